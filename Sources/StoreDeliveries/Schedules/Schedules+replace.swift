public import LiveActivity
import Redis
public import StoreGround

/// The result of a request for another publish or another time.
public enum ScheduleReplacement: Sendable, Hashable {
    /// The schedule as it is now, with the time of its first creation.
    case replaced(Schedule)
    /// Its push is committed or being committed. The push can be cancelled.
    case tooLate
    /// The schedule failed, or was cancelled before.
    case finished
}

/// The record says when a schedule is due. The timer only says when a worker must look. An early timer costs one look,
/// but a late one would delay the push. So the timer is lowered before the record is written and again after it. Only a
/// caller that reads the record again afterwards raises it.
extension Schedules {
    /// Replaces a schedule. Repeatable. If the process dies in between, a worker sets the early timer right.
    /// - Returns: nil if the app has no such schedule.
    /// - Throws: `unreplicated` as `create` does.
    public func replace(_ app: AppKey, _ schedule: Schedule) async throws(StoreError) -> ScheduleReplacement? {
        guard let found = try await find(app, schedule.id) else { return nil }
        var schedule = schedule
        schedule.createdAt = found.createdAt
        try await lower(app, schedule.id, to: schedule.due)
        if redis.isCluster, found.publish.name != schedule.publish.name { try await rename(app, schedule) }
        let absent = Self.optionalFields.map { RedisArgument.string($0) }
        let reply = try await redis.run(
            Lua.scheduleReplace, keys: ["at": keys.schedule(app, schedule.id)],
            ["expiresAt": .int(schedule.due + keys.retention), "absent": .int(absent.count)],
            rest: absent + schedule.fields)
        if reply.isNil { return nil }
        let state = Schedule.State(rawValue: try reply.string())
        guard state?.isWaiting == true else { return state?.isRefused == true ? .finished : .tooLate }
        try await lower(app, schedule.id, to: schedule.due)
        if schedule.due > found.due { try await raise(app, schedule.id, to: schedule.due) }
        try await confirm(app, schedule)
        return .replaced(schedule)
    }

    private func rename(_ app: AppKey, _ schedule: Schedule) async throws(StoreError) {
        let id = RedisArgument.string(schedule.id.description)
        // A worker may have taken it out of the timer, with its name.
        if try await redis.run("ZSCORE", keys.at(app), id).isNil { return }
        try await redis.run("HSET", keys.scheduledNames(app), id, .string(schedule.publish.name.rawValue))
    }

    func lower(_ app: AppKey, _ id: PushID, to due: Int64) async throws(StoreError) {
        try await redis.run("ZADD", keys.at(app), "XX", "LT", .int(due), .string(id.description))
    }

    /// Raises the timer to `due`, the time in the record when it was read. If another process writes an earlier time
    /// meanwhile, either the second look here sees it, or that process lowers the timer after this call.
    func raise(_ app: AppKey, _ id: PushID, to due: Int64) async throws(StoreError) {
        try await redis.run("ZADD", keys.at(app), "XX", .int(due), .string(id.description))
        let standing = try await redis.run("HGET", keys.schedule(app, id), "due").optionalNumber().map { Int64($0) }
        if let standing, standing < due { try await lower(app, id, to: standing) }
    }
}
