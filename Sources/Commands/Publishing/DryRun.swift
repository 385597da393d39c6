import Answers

// The answer to a dry run: whom each push would reach, and its size.

extension PreviewAnswer {
    private var reach: String {
        let least = complete == false ? "at least " : ""
        let parts = [
            tokens.map { least + Self.count($0, "token") },
            startTokens.map { least + Self.count($0, "start token") },
            broadcastChannels.flatMap { $0 > 0 ? Self.count($0, "broadcast channel") : nil },
        ]
        let known = parts.compactMap { $0 }
        return known.isEmpty ? "unknown: Redis does not answer" : known.joined(separator: " and ")
    }

    private static func count(_ number: Int, _ what: String) -> String {
        "\(number) \(what)\(number == 1 ? "" : "s")"
    }

    /// Prints the push, with the payload as it would be sent.
    func print() {
        Table(fields: [
            "name": name, "event": event, "would reach": reach,
            "payload": "\(payloadBytes) of \(payloadLimit) bytes", "waits for": held,
        ]).print()
        Terminal.print(payload.text)
    }
}
