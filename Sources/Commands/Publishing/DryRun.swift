import StrictJSON

/// The answer of `POST /api/push/validate`: whom each push would reach, and its size.
struct DryRun: Decodable, Sendable {
    struct Push: Decodable, Sendable {
        var name: String
        var event: String
        var tokens: Int?
        var start_tokens: Int?
        /// False if the gateway had no time to count all tokens.
        var complete: Bool?
        var broadcast_channels: Int?
        var payload_bytes: Int
        var payload_limit: Int

        var reach: String {
            let least = complete == false ? "at least " : ""
            let parts = [
                tokens.map { least + Self.count($0, "token") },
                start_tokens.map { least + Self.count($0, "start token") },
                broadcast_channels.flatMap { $0 > 0 ? Self.count($0, "broadcast channel") : nil },
            ]
            let known = parts.compactMap { $0 }
            return known.isEmpty ? "unknown: Redis does not answer" : known.joined(separator: " and ")
        }

        private static func count(_ number: Int, _ what: String) -> String {
            "\(number) \(what)\(number == 1 ? "" : "s")"
        }
    }

    var pushes: [Push]
    var warnings: [String]?

    /// Prints the pushes, each with the payload as it would be sent.
    /// - Parameter answer: the response that this was decoded from.
    func print(_ answer: [UInt8]) throws {
        let values = try JSONDocument(answer).root.object()["pushes"]?.array() ?? []
        for (push, value) in zip(pushes, values) {
            Table(fields: [
                "name": push.name, "event": push.event, "would reach": push.reach,
                "payload": "\(push.payload_bytes) of \(push.payload_limit) bytes",
            ]).print()
            guard let payload = try value.object()["payload"] else { continue }
            Terminal.print(String(decoding: payload.raw, as: UTF8.self))
        }
    }
}
