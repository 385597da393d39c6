import Foundation

/// A ledger as the gateway returns it.
struct Ledger: Sendable {
    static let parts = ["delivered", "pruned", "failed", "superseded", "expired", "skipped", "pending"]
    var state: String
    var isExpanded: Bool
    var counts: [String: Int]
    /// Nil if the push was not for a broadcast channel.
    var broadcast: (state: String, attempts: Int)?
    var supersededBy: String?
    /// The same fields by platform. Empty for a push that is for one platform.
    var platforms: [String: [String: Int]] = [:]
    var text: String

    init?(_ answer: Gateways.Answer) {
        let json = answer.json
        guard answer.status == 200, let state = json["state"] as? String else { return nil }
        self.state = state
        isExpanded = json["expanded"] as? Bool ?? false
        counts = json.compactMapValues { $0 as? Int }
        if let part = json["broadcast"] as? [String: Any] {
            broadcast = (part["state"] as? String ?? "", part["attempts"] as? Int ?? 0)
        }
        platforms = (json["platforms"] as? [String: [String: Any]] ?? [:]).mapValues {
            $0.compactMapValues { $0 as? Int }
        }
        supersededBy = json["superseded_by"] as? String
        text = String(decoding: answer.body, as: UTF8.self)
    }

    subscript(count: String) -> Int { counts[count] ?? 0 }
    /// The ledger of a cancelled push may be final before its sweep has noticed the cancellation.
    var isOver: Bool { isFinal && isExpanded && self["pending"] == 0 && broadcast?.state != "waiting" }
    var isFinal: Bool { !["scheduled", "queued", "sending"].contains(state) }
    var addsUp: Bool { Self.addsUp(counts) && platforms.values.allSatisfy(Self.addsUp) }
    private static func addsUp(_ counts: [String: Int]) -> Bool {
        (counts["targets"] ?? 0) == parts.reduce(0) { $0 + (counts[$1] ?? 0) }
    }
}
