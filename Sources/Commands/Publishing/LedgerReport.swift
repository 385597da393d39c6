import Foundation

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
    var created_at: Timestamp
    var finished_at: Timestamp?
    var errors: [String: Int]?

    var isFinal: Bool { !["scheduled", "queued", "sending"].contains(state) }

    /// Whether the push ended well: every target has an outcome, or a newer push superseded it.
    var isGood: Bool { state == "done" || state == "superseded" }

    /// The request to the name's broadcast channel.
    struct Broadcast: Decodable, Sendable {
        var state: String
        var status: Int?
        var reason: String?
    }

    /// Milliseconds since 1970. In JSON they are a number or ISO 8601 text.
    enum Timestamp: Decodable, Sendable {
        case milliseconds(Int)
        case text(String)

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let number = try? value.decode(Int.self) {
                self = .milliseconds(number)
            } else {
                self = .text(try value.decode(String.self))
            }
        }

        var milliseconds: Int? {
            switch self {
            case .milliseconds(let number): return number
            case .text(let text):
                let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
                let date = (try? fractional.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
                return date.map { Int(($0.timeIntervalSince1970 * 1_000).rounded()) }
            }
        }
    }

    /// The time from acceptance to the end. Nil while the push runs.
    var duration: String? {
        guard let from = created_at.milliseconds, let to = finished_at?.milliseconds else { return nil }
        return to - from < 1_000 ? "\(max(0, to - from)) ms" : "\(Double((to - from) / 10) / 100) s"
    }

    var lines: [String] {
        var head = Table(.left, .left)
        head.add("push", push_id)
        head.add("name", name)
        head.add("event", "\(event)\(automatic == true ? ", automatic" : ""), priority \(priority)")
        head.add("state", state + (superseded_by.map { " by \($0)" } ?? "") + (duration.map { " after \($0)" } ?? ""))
        if let broadcast {
            let answer = [broadcast.status.map { "\($0)" }, broadcast.reason].compactMap { $0 }.joined(separator: " ")
            head.add("broadcast", broadcast.state + (answer.isEmpty ? "" : " (\(answer))"))
        }
        var counts = Table(.left, .right)
        counts.add("targets", Terminal.grouped(targets) + (expanded ? "" : " so far"))
        counts.add("delivered", Terminal.grouped(delivered))
        if let stale, stale > 0 { counts.add("  to stale start tokens", Terminal.grouped(stale)) }
        for (title, count) in [
            ("pruned", pruned), ("failed", failed), ("superseded", superseded), ("expired", expired),
            ("skipped", skipped), ("pending", pending), ("retries", retries),
            ("duplicates possible", duplicates_possible), ("demoted to priority 5", demoted ?? 0),
            ("late followers", late ?? 0),
        ] where count > 0 || ["pruned", "failed", "pending"].contains(title) {
            counts.add(title, Terminal.grouped(count))
        }
        for (reason, count) in (errors ?? [:]).sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            counts.add("  \(reason)", Terminal.grouped(count))
        }
        return head.lines + counts.lines
    }
}
