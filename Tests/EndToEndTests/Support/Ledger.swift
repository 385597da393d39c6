import Foundation

/// A ledger as `--json` prints it.
struct Ledger {
    var fields: [String: Any]

    init(_ text: String) throws {
        fields = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    }

    subscript(field: String) -> Int { fields[field] as? Int ?? -1 }
    var state: String { fields["state"] as? String ?? "" }
    var errors: [String: Int] { fields["errors"] as? [String: Int] ?? [:] }

    /// Whether the outcomes add up to the targets. Every ledger promises this at every moment.
    var addsUp: Bool {
        self["targets"]
            == ["delivered", "pruned", "failed", "superseded", "expired", "skipped", "pending"].reduce(0) {
                $0 + self[$1]
            }
    }
}
