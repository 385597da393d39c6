public import LiveActivity
import Redis

/// How many updates of a name may go out at priority 10 in an hour; 0 = any number. Past it those without an alert go out
/// at 5, which a device does not count.
public struct HighBudget: Sendable, Hashable {
    public var perHour: Int
    /// For devices whose user switched frequent updates off.
    public var perHourInfrequent: Int

    public init(perHour: Int = 0, perHourInfrequent: Int = 0) {
        self.perHour = perHour
        self.perHourInfrequent = perHourInfrequent
    }

    static let window: Int64 = 3_600_000
}

/// Who gets a push at priority 5 though 10 was asked for.
public enum Demotion: String, Sendable, Hashable {
    case all
    /// Devices without frequent updates.
    case infrequent = "slow"
}

extension Pushes {
    /// Whether the name has used up its budget for now: updates without an alert would go out at 5. It is counted when a
    /// push is taken up, so this is a forecast.
    public func isHighSpent(
        _ app: AppKey, _ name: ActivityName, _ budget: HighBudget, now: Int64
    ) async throws(StoreError) -> Bool {
        if budget.perHour == 0 { return false }
        let reply = try await redis.run([
            RedisCommand("HGET", [.string(keys.name(keys.tag(app, name))), "budget"])
        ])[0]
        if reply.isNil { return false }
        let parts = try redisErrors { () throws(RedisError) in try reply.string() }.split(separator: " ")
        guard parts.count == 2, let began = Int64(parts[0]), let count = Int(parts[1]) else { throw .corrupt("budget") }
        return now - began < HighBudget.window && count >= budget.perHour
    }
}
