import Answers
import LiveActivity

// The answer to a dry run: whom each push would reach, and its size.

extension PreviewAnswer {
    var reach: String {
        let least = complete == false ? "at least " : ""
        let parts = [
            tokens.map { least + Terminal.counted($0, "token") },
            startTokens.map { least + Terminal.counted($0, "start token") },
            broadcastChannels.flatMap { $0 > 0 ? Terminal.counted($0, "broadcast channel") : nil },
        ]
        let known = parts.compactMap { $0 }
        return known.isEmpty ? "unknown: Redis does not answer" : known.joined(separator: " and ")
    }

    /// Prints the push, with the payload of each platform as it would be sent.
    func print() {
        let parts = Platform.all.compactMap { platform in
            platforms?.byPlatform[platform].map { (name: platform.name, part: $0) }
        }
        func size(_ bytes: Int, _ limit: Int) -> String { "\(bytes) of \(limit) bytes" }
        var table = Table(fields: [
            "name": name, "event": event, "would reach": reach,
            "payload": parts.isEmpty ? size(payloadBytes, payloadLimit) : nil, "waits for": held,
        ])
        for (name, part) in parts {
            let count = part.tokens.map { Terminal.counted($0, "token") + ", " } ?? ""
            table.add("on \(name)", count + size(part.payloadBytes, part.payloadLimit))
        }
        table.print()
        for payload in parts.isEmpty ? [payload] : parts.map(\.part.payload) { Terminal.print(payload.text) }
    }
}
