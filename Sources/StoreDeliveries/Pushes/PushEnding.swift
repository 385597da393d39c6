public import LiveActivity
import Synchronization

/// A push that a script of this process made final.
public struct PushEnding: Sendable {
    public var app: AppKey
    public var name: ActivityName
    public var push: PushID
    /// The whole ledger, where the process knows it without asking Redis.
    public var ledger: Ledger?
    /// The push that superseded this one before it began. It has no counts then.
    public var supersededBy: PushID?
}

/// Tells a listener of the pushes that this process ends. The process whose script ended a push reports it, once. If
/// that process dies or loses the script's answer, the end is not reported: the ledger is the record.
public final class PushEndings: Sendable {
    private let listener = Mutex<(@Sendable (PushEnding) -> Void)?>(nil)
    /// Names in which an older push waits again, because the push that superseded it was withdrawn.
    private let broughtBack = Mutex<Set<BroughtBack>>([])
    private struct BroughtBack: Hashable { var app: AppKey, name: ActivityName }

    package init() {}

    /// Replaces the listener. It is called on the caller's task and must return at once.
    public func listen(_ listener: (@Sendable (PushEnding) -> Void)?) {
        self.listener.withLock { $0 = listener }
    }

    package func note(_ ending: PushEnding) { listener.withLock(\.self)?(ending) }

    /// Whether a script of this process brought an older push of the name back since the last call. The caller wakes a
    /// worker for the name. If it dies before that, the reconciler finds the push.
    public func takeBroughtBack(_ app: AppKey, _ name: ActivityName) -> Bool {
        broughtBack.withLock { $0.remove(BroughtBack(app: app, name: name)) != nil }
    }

    /// - Parameter ids: push ids with spaces between them, as scripts return them; `+` if an older push waits again
    package func note(_ app: AppKey, _ name: ActivityName, ids: String, supersededBy newer: PushID? = nil) {
        guard !ids.isEmpty else { return }
        for id in ids.split(separator: " ") {
            if id == "+" { broughtBack.withLock { _ = $0.insert(BroughtBack(app: app, name: name)) } }
            guard let push = PushID(String(id)) else { continue }
            note(PushEnding(app: app, name: name, push: push, supersededBy: newer))
        }
    }
}

extension Ledger {
    /// The fields of the log line of a push that ended: sizes, times and outcome. Counts of 0 are left out, but for
    /// targets and deliveries.
    /// - Parameter now: epoch ms, for a ledger that does not tell when the push ended
    /// - Returns: integers and texts
    public func summary(now: Int64) -> [String: any CustomStringConvertible & Sendable] {
        var fields: [String: any CustomStringConvertible & Sendable] = [
            "push": id.description, "state": state.rawValue, "event": event.rawValue, "priority": priority.rawValue,
            "bytes": payloadBytes, "targets": outcomes.targets, "delivered": outcomes.delivered,
            "ms": max(0, (finishedAt ?? now) - createdAt),
        ]
        for field in SettledField.allCases where outcomes[field] > 0 { fields[field.rawValue] = outcomes[field] }
        let counts = ["retries": retries, "duplicates_possible": duplicatesPossible]
        for (field, count) in counts where count > 0 { fields[field] = count }
        if let supersededBy { fields["superseded_by"] = supersededBy.description }
        if let broadcast { fields["broadcast"] = broadcast.state.rawValue }
        let reasons = errors.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(3)
        if !reasons.isEmpty { fields["errors"] = reasons.map { "\($0.key):\($0.value)" }.joined(separator: ",") }
        return fields
    }
}
