import LiveActivity

/// A push's ledger as `GET /api/push/{id}` returns it.
struct LedgerReport: Decodable, Sendable {
    var push_id: String
    var name: String
    var event: String
    var priority: Int
    var state: String
    var expanded: Bool
    var targets: Int
    var delivered: Int
    var pruned: Int
    var failed: Int
    var superseded: Int
    var expired: Int
    var skipped: Int
    var pending: Int
    var retries: Int
    var duplicates_possible: Int
    var demoted: Int?
    var late: Int?
    var stale: Int?
    var automatic: Bool?
    var superseded_by: String?
    var broadcast: Broadcast?
    var created_at: String
    var finished_at: String?
    var errors: [String: Int]?
    /// Receipts, where there are any.
    var shown: Int?
    var ended: Int?
    var dismissed: Int?

    var isFinal: Bool { !["scheduled", "queued", "sending"].contains(state) }
    /// Whether no worker has counted a target yet, so that zeros would say too much.
    private var isUnread: Bool { !isFinal && !expanded && targets == 0 }
    /// Whether the push ended well: every target has an outcome, or a newer push superseded it.
    var isGood: Bool { state == "done" || state == "superseded" }

    /// The request to the name's broadcast channel.
    struct Broadcast: Decodable, Sendable {
        var state: String
        var status: Int?
        var reason: String?

        var text: String {
            let answer = [status.map(String.init), reason].compactMap { $0 }.joined(separator: " ")
            return state + (answer.isEmpty ? "" : " (\(answer))")
        }
    }

    /// The time from acceptance to the end. Nil while the push runs.
    var duration: String? {
        guard let finished_at, let from = TimeText.parse(created_at), let to = TimeText.parse(finished_at) else {
            return nil
        }
        return to - from < 1_000 ? "\(max(0, to - from)) ms" : "\(Double((to - from) / 10) / 100) s"
    }

    var lines: [String] {
        let head = Table(fields: [
            "push": push_id, "name": name,
            "event": "\(event)\(automatic == true ? ", automatic" : ""), priority \(priority)",
            "state": state + (superseded_by.map { " by \($0)" } ?? "") + (duration.map { " after \($0)" } ?? ""),
            "broadcast": broadcast?.text,
        ])
        let counted = stale.flatMap { $0 > 0 ? Terminal.grouped($0) : nil }
        var counts = Table(
            fields: [
                "targets": isUnread ? "not read yet" : Terminal.grouped(targets) + (expanded ? "" : " so far"),
                "delivered": isUnread ? nil : Terminal.grouped(delivered), "  to stale start tokens": counted,
            ], values: .right)
        for (title, count) in [
            ("pruned", pruned), ("failed", failed), ("superseded", superseded), ("expired", expired),
            ("skipped", skipped), ("pending", pending), ("retries", retries),
            ("duplicates possible", duplicates_possible), ("demoted to priority 5", demoted ?? 0),
            ("late joiners", late ?? 0),
        ] where count > 0 || (["pruned", "failed", "pending"].contains(title) && !isUnread) {
            counts.add(title, Terminal.grouped(count))
        }
        for (reason, count) in Terminal.ranked(errors ?? [:]) { counts.add("  \(reason)", Terminal.grouped(count)) }
        for (title, count) in [("shown", shown), ("ended", ended), ("dismissed", dismissed)] {
            if let count { counts.add("receipts: \(title)", Terminal.grouped(count)) }
        }
        return head.lines + counts.lines
    }
}
