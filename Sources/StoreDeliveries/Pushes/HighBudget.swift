public import LiveActivity
import Redis
public import StoreGround

/// How many updates of a name may go out at priority 10 in an hour; 0 = any number. When it is used up, updates without
/// an alert go out at priority 5, which a device does not count.
public struct HighBudget: Sendable, Hashable {
    public var perHour: Int

    public init(perHour: Int = 0) { self.perHour = perHour }

    static let window = ScriptNumbers.budgetWindow
}

extension Pushes {
    /// Whether updates without an alert would go out at priority 5. A forecast: a push is counted when it begins.
    public func isHighSpent(
        _ app: AppKey, _ name: ActivityName, _ budget: HighBudget, now: Int64
    ) async throws(StoreError) -> Bool {
        if budget.perHour == 0 { return false }
        let reply = try await redis.run("HGET", keys.name(keys.tag(app, name)), "budget")
        if reply.isNil { return false }
        let parts = try reply.string().split(separator: " ")
        guard parts.count == 2, let began = StoredNumber.read(parts[0]), let count = StoredNumber.read(parts[1])
        else { throw .corrupt("budget") }
        return (0..<HighBudget.window).contains(now - Int64(began)) && count >= budget.perHour
    }
}
