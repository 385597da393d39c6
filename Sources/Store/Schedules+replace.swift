public import LiveActivity
import Redis

/// What came of asking for another publish or another time in a schedule's place.
public enum ScheduleReplacement: Sendable, Hashable {
    /// As it stands now, with the time of its creation.
    case replaced(Schedule)
    /// It is being committed, or was: its push can be cancelled.
    case tooLate
    /// It failed or was cancelled before.
    case finished
}

/// The record says when a schedule is due; the timer only when to look. A timer that is early costs a look, one that is late
/// would delay the push. So the timer is set down before the record is written and again after it, and up only by whoever
/// then reads the record once more.
extension Schedules {
    /// Nil: the app has no such schedule. Repeatable. Throws `unreplicated` as `create` does.
    ///
    /// A death in between leaves a timer that is early: the worker that looks then sets it to the record's time.
    public func replace(_ app: AppKey, _ schedule: Schedule) async throws(StoreError) -> ScheduleReplacement? {
        guard let found = try await find(app, schedule.id) else { return nil }
        var schedule = schedule
        schedule.createdAt = found.createdAt
        try await lower(app, schedule.id, to: schedule.due)
        let absent = Self.optionalFields.map { RedisArgument.string($0) }
        let reply = try await redis.run([
            RedisCommand(
                Lua.scheduleReplace, keys: [.string(keys.schedule(app, schedule.id))],
                arguments: [.int(schedule.due + Self.retention.milliseconds), .int(absent.count)] + absent
                    + schedule.fields)
        ])[0]
        if reply.isNil { return nil }
        let state = try redisErrors { () throws(RedisError) in try reply.string() }
        guard state == Schedule.State.scheduled.rawValue else {
            let isOver = [Schedule.State.failed, .cancelled].map(\.rawValue).contains(state)
            return isOver ? .finished : .tooLate
        }
        try await lower(app, schedule.id, to: schedule.due)
        if schedule.due > found.due { try await raise(app, schedule.id, to: schedule.due) }
        try await confirm(app, schedule)
        return .replaced(schedule)
    }

    private func lower(_ app: AppKey, _ id: PushID, to due: Int64) async throws(StoreError) {
        _ = try await redis.run([
            RedisCommand("ZADD", [.string(keys.at(app)), "XX", "LT", .int(due), .string(id.description)])
        ])
    }

    /// To the record's time, `due` when it was read. Whoever has written an earlier one since sets the timer down after
    /// that, before this one's second look or behind it.
    func raise(_ app: AppKey, _ id: PushID, to due: Int64) async throws(StoreError) {
        let replies = try await redis.run([
            RedisCommand("ZADD", [.string(keys.at(app)), "XX", .int(due), .string(id.description)])
        ])
        _ = try redisErrors { () throws(RedisError) in try replies[0].integer() }
        let now = try await redis.run([RedisCommand("HGET", [.string(keys.schedule(app, id)), "due"])])[0]
        if now.isNil { return }
        let text = try redisErrors { () throws(RedisError) in try now.string() }
        if let standing = Int64(text), standing < due { try await lower(app, id, to: standing) }
    }
}
