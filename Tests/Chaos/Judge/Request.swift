import Foundation

/// One request in the simulator's history.
struct Request: Sendable {
    /// Epoch ms by the simulator's clock.
    var at: Int64
    var status: Int?
    /// Whether the device got it.
    var reached: Bool
    /// The number of the push, and whether the push is an `end`.
    var order: Int?
    var isEnd: Bool
    /// The sender's port.
    var port: Int
    /// `apns-collapse-id`.
    var collapseID: String?

    /// Reads the history from a token's JSON object.
    static func history(_ object: [UInt8]) -> [Request] {
        let json = (try? JSONSerialization.jsonObject(with: Data(object))) as? [String: Any] ?? [:]
        return (json["history"] as? [[String: Any]] ?? []).map { request in
            Request(
                at: Int64(request["at_ms"] as? Int ?? 0), status: request["status"] as? Int,
                reached: request["reached"] as? Bool ?? false,
                order: request["order"] as? Int ?? (request["dismissal_date"] as? Int).map { $0 - Activity.dismissal },
                isEnd: request["event"] as? String == "end", port: request["port"] as? Int ?? 0,
                collapseID: request["collapse_id"] as? String)
        }
    }

    /// Writes `3=503@1795289206912:52896 5end=200@…`: number, response, time, port.
    static func words(_ history: [Request]) -> String {
        if history.isEmpty { return "received nothing" }
        let words = history.map { request in
            let number = request.order.map(String.init) ?? "?"
            let answer = request.status.map(String.init) ?? (request.reached ? "taken" : "none")
            return "\(number)\(request.isEnd ? "end" : "")=\(answer)@\(request.at):\(request.port)"
        }
        return "received " + words.joined(separator: " ")
    }
}
