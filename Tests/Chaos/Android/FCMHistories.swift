import Foundation

/// The simulator's record of FCM: each address with its last requests and its phone's cards.
struct FCMHistories: Sendable {
    struct Message: Sendable {
        var request: Request
        /// The name in the message. Nil for a message that the simulator could not read.
        var name: String?
        var isStart: Bool
        /// The second of the content.
        var second: Int?
        /// When the simulator had read it, epoch ms.
        var arrived: Int64
    }

    struct Card: Sendable {
        var isActive: Bool
        var shown: Int?
        var backwards: Int
    }

    struct Address: Sendable {
        var messages: [Message] = []
        var cards: [String: Card] = [:]
        /// Epoch ms before which messages are not kept. 0: all are there.
        var oldest: Int64 = 0
    }

    var addresses: [String: Address] = [:]
    var totals: [String: Int] = [:]

    /// The phone's messages of the name, oldest first.
    func messages(_ address: String, _ name: Int) -> [Message] {
        addresses[address]?.messages.filter { $0.name == "chaos-\(name)" } ?? []
    }

    /// Waits for messages that a fault holds back, and reads.
    static func read(_ controlURL: String) async throws -> FCMHistories {
        var histories = FCMHistories()
        for _ in 0..<50 {
            let totals = try await Record.get(controlURL + "/fcm/record")
            histories.totals = object(totals).compactMapValues { $0 as? Int }
            if histories.totals["pending"] == 0 { break }
            try await Task.sleep(for: .milliseconds(100))
        }
        let lines = try await Record.get(controlURL + "/fcm/tokens?history=1")
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            let json = object(Array(line))
            guard let address = json["token"] as? String else { continue }
            histories.addresses[address] = Address(json, Array(line))
        }
        return histories
    }

    static func object(_ bytes: [UInt8]) -> [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
    }
}

extension FCMHistories.Address {
    fileprivate init(_ json: [String: Any], _ line: [UInt8]) {
        let history = json["history"] as? [[String: Any]] ?? []
        messages = zip(history, Request.history(line)).map { entry, request in
            FCMHistories.Message(
                request: request, name: entry["name"] as? String, isStart: entry["event"] as? String == "start",
                second: entry["timestamp"] as? Int, arrived: Int64(entry["arrived_at_ms"] as? Int ?? 0))
        }
        oldest = messages.count < Fleet.history ? 0 : messages[0].request.at
        cards = (json["cards"] as? [String: [String: Any]] ?? [:]).mapValues { card in
            FCMHistories.Card(
                isActive: card["active"] as? Bool ?? false,
                shown: (card["content_state"] as? [String: Any])?["n"] as? Int,
                backwards: card["backwards"] as? Int ?? 0)
        }
    }
}
