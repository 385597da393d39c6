import Answers

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

    /// Prints the push, with the payload as it would be sent.
    func print() {
        Table(fields: [
            "name": name, "event": event, "would reach": reach,
            "payload": "\(payloadBytes) of \(payloadLimit) bytes", "waits for": held,
        ]).print()
        Terminal.print(payload.text)
    }
}
