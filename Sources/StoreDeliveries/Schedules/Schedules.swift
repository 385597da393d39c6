public import LiveActivity
package import Redis
public import StoreGround
import Synchronization

public enum ScheduleCancellation: Sendable, Hashable {
    case cancelled
    /// Its push is committed or being committed. The push can be cancelled.
    case tooLate
    /// The schedule failed, or was cancelled before.
    case finished
}

/// The schedules that a list has.
public enum ListedSchedules: String, Sendable {
    case scheduled, finished
    /// The finished schedules that were refused at their time.
    case failed

    /// Whether the list has a schedule of this state. A list of waiting schedules is one of the timer.
    func has(_ state: Schedule.State?) -> Bool {
        switch self {
        case .scheduled: true
        case .finished: state?.isOver == true
        case .failed: state == .failed
        }
    }
}

/// Publishes that wait for their time. They are in Redis, and any worker that sees one due commits it.
public struct Schedules: Sendable {
    /// A list for one name looks at so many schedules of the app.
    private static let mostOfName = 300
    /// Most waiting schedules of an app. More are refused.
    package var most = 100_000
    /// A schedule goes out with its own time as timestamp. If something newer was published since, an update that is
    /// later than this (ms) is refused, so that an old state does not show as the newest. Others go out behind it.
    var punctual: Int64 = 2_000
    /// Tests have a longer one.
    var longestHold = Self.hold

    package let redis: RedisClient
    package let keys: Keyspace
    package let pushes: Pushes
    package let replicas: ReplicaWait?
    private let events: Events
    let walks = DueWalks()

    package init(redis: RedisClient, keys: Keyspace, pushes: Pushes, replicas: ReplicaWait?, events: Events) {
        self.redis = redis
        self.keys = keys
        self.pushes = pushes
        self.replicas = replicas
        self.events = events
    }

    /// Creates all of the schedules, or none. Repeatable with the same ids. After a crash, a record expires unsent.
    /// - Returns: the schedules as they stand. One that exists already stays as it is, even if it was replaced, sent or
    ///   deleted since. Nil if the app has too many schedules.
    /// - Throws: `unreplicated` as `Pushes.accept` does.
    public func create(_ app: AppKey, _ schedules: [Schedule]) async throws(StoreError) -> [Schedule]? {
        if schedules.isEmpty { return [] }
        let replies = try await redis.run(
            schedules.map { schedule in
                RedisCommand(
                    Lua.scheduleCreate, keys: ["at": keys.schedule(app, schedule.id)],
                    ["expiresAt": .int(schedule.due + keys.retention)], rest: schedule.fields)
            })
        let isNew = try replies.map { reply throws(StoreError) in try reply.isOne() }
        let known = zip(schedules, isNew).filter { !$0.1 }.map(\.0.id)
        let found = try await find(app, known).compactMap(\.self)
        let records = Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0) })
        let standing = schedules.map { records[$0.id] ?? $0 }
        let waiting = standing.filter(\.state.isWaiting)
        if waiting.isEmpty { return standing }
        let queued = try await redis.run(
            Lua.scheduleQueue, keys: ["at": keys.at(app), "names": keys.scheduledNames(app)], ["most": .int(most)],
            rest: waiting.flatMap { schedule -> [RedisArgument] in
                let name = redis.isCluster ? schedule.publish.name.rawValue : ""
                return [.int(schedule.due), .string(schedule.id.description), .string(name)]
            })
        if try queued.isOne() {
            if let last = waiting.last { try await confirm(app, last, and: waiting.dropLast()) }
            return standing
        }
        try await redis.run(waiting.map { RedisCommand("DEL", keys.schedule(app, $0.id)) })
        return nil
    }

    /// Asks the replicas about a schedule. `others` were written before, so on one server the answer is for them too.
    func confirm(_ app: AppKey, _ schedule: Schedule, and others: ArraySlice<Schedule> = []) async throws(StoreError) {
        let now = pushes.time.now()
        func life(_ schedule: Schedule) -> Int64 { max(schedule.due + keys.retention - now, 1_000) }
        try await replicas?.confirm(
            push: keys.schedule(app, schedule.id), life: life(schedule),
            // A worker that finds the timer early sets it right.
            elsewhere: others.map { ReplicaWait.proof(keys.schedule(app, $0.id), life: life($0)) }
                + [ReplicaWait.proof(keys.at(app), member: schedule.id.description, shift: -1)])
    }

    public func find(_ app: AppKey, _ id: PushID) async throws(StoreError) -> Schedule? {
        try await find(app, [id]).first ?? nil
    }

    func find(_ app: AppKey, _ ids: [PushID]) async throws(StoreError) -> [Schedule?] {
        let replies = try await redis.run(ids.map { RedisCommand("HGETALL", keys.schedule(app, $0)) })
        return try zip(ids, replies).map { id, reply throws(StoreError) in
            let fields = try StoredHash(reply)
            return fields.isEmpty ? nil : try Schedule(id: id, fields)
        }
    }

    /// Lists the waiting schedules in the order of their times.
    /// - Parameters:
    ///   - prefix: the beginning of the names; nil for all names
    ///   - start: the first schedule of the page, or nil. It need not wait any more if it can still be read.
    /// - Returns: the schedules, the number of all waiting ones, and where the next page starts.
    public func list(
        _ app: AppKey, namesFrom prefix: String? = nil, start: PushID?, limit: Int
    ) async throws(StoreError) -> (schedules: [Schedule], total: Int, next: PushID?) {
        if let prefix { return try await waiting(app, namesFrom: prefix, start, limit) }
        let at = keys.at(app)
        var first = 0
        if let start {
            let rank = try await redis.run("ZRANK", at, .string(start.description))
            if !rank.isNil {
                first = try rank.integer()
            } else if let schedule = try await find(app, start) {
                first = try await redis.run("ZCOUNT", at, "-inf", "(\(schedule.due)").integer()
            }
        }
        let (total, members) = try await redis.run([
            RedisCommand("ZCARD", at), RedisCommand("ZRANGE", at, .int(first), .int(first + limit)),
        ]).values(.integer("total"), .strings("schedules"))
        let ids = members.compactMap { PushID($0) }
        let found = try await find(app, Array(ids.prefix(limit)))
        return (found.compactMap { $0 }, total, ids.count > limit ? ids[limit] : nil)
    }

    /// Looks at the name of every waiting schedule, so that neither the total nor the start of a page tells of others.
    private func waiting(
        _ app: AppKey, namesFrom prefix: String, _ start: PushID?, _ limit: Int
    ) async throws(StoreError) -> (schedules: [Schedule], total: Int, next: PushID?) {
        let all = try await redis.run("ZRANGE", keys.at(app), "0", "-1").strings().compactMap { PushID($0) }
        let own = try await own(app, all, .scheduled) { $0.starts(with: prefix.utf8) }
        var first = 0
        if let start {
            if let place = own.firstIndex(of: start) {
                first = place
            } else if let gone = try await find(app, start), gone.publish.name.begins(with: prefix) {
                let before = try await find(app, own).prefix { ($0?.due ?? 0) < gone.due }
                first = before.count
            }
        }
        return try await page(app, own, first, limit)
    }

    func page(
        _ app: AppKey, _ own: [PushID], _ first: Int, _ limit: Int
    ) async throws(StoreError) -> (schedules: [Schedule], total: Int, next: PushID?) {
        let wanted = own.dropFirst(first)
        let found = try await find(app, Array(wanted.prefix(limit))).compactMap(\.self)
        return (found, own.count, wanted.dropFirst(limit).first)
    }

    /// The first schedules of a name among the next of the app, the earliest first, or among the last that are over,
    /// the latest first.
    public func list(
        _ app: AppKey, of name: ActivityName, _ listed: ListedSchedules, limit: Int
    ) async throws(StoreError) -> [Schedule] {
        let ids =
            listed == .scheduled
            ? try await redis.run("ZRANGE", keys.at(app), "0", .int(Self.mostOfName - 1))
                .strings().compactMap { PushID($0) }
            : try await finishedIDs(app, last: Self.mostOfName - 1)
        let own = try await own(app, ids, listed) { $0.elementsEqual(name.rawValue.utf8) }
        return try await find(app, Array(own.prefix(limit))).compactMap(\.self).filter {
            $0.publish.name == name && listed.has($0.state)
        }
    }

    /// The schedules among these that the list has and whose names fit, in the same order. It reads no bodies, because
    /// each may have 64 KB.
    func own(
        _ app: AppKey, _ ids: [PushID], _ listed: ListedSchedules, _ fits: (ArraySlice<UInt8>) -> Bool
    ) async throws(StoreError) -> [PushID] {
        let fields: [RedisArgument] = ["name", "state"]
        var own: [PushID] = []
        for part in ids.parts(of: 1_000) {
            let heads = try await redis.run(part.map { RedisCommand("HMGET", keys.schedule(app, $0), fields) })
            for (id, head) in zip(part, heads) {
                let (name, state) = try head.values(.optionalBytes("name"), .optionalString("state"))
                guard let name, fits(name), listed.has(state.flatMap(Schedule.State.init(rawValue:))) else { continue }
                own.append(id)
            }
        }
        return own
    }

    /// - Returns: nil if the app has no such schedule.
    public func cancel(_ app: AppKey, _ id: PushID, now: Int64) async throws(StoreError) -> ScheduleCancellation? {
        guard let found = try await find(app, id) else { return nil }
        if found.state.isRefused {
            // The call that cancelled it may have died before it did this.
            try await forget(app, id.description)
            return .finished
        }
        try await noteFinished(app, id, now: now)
        let state = try await settle(app, id, from: [.scheduled], to: .cancelled, reason: nil, now: now)
        guard state == .cancelled else { return state == nil ? nil : .tooLate }
        // If the process dies here, the next worker that sees the entry due removes it.
        try await forget(app, id.description)
        return .cancelled
    }

    /// Takes a schedule out of the timer. Its name goes first: a process that finds the schedule there again repeats
    /// this.
    package func forget(_ app: AppKey, _ member: String) async throws(StoreError) {
        let name = RedisCommand("HDEL", keys.scheduledNames(app), .string(member))
        try await redis.run(
            (redis.isCluster ? [name] : []) + [RedisCommand("ZREM", keys.at(app), .string(member))])
    }

    /// Tells that a schedule was refused at its time. Repeatable: the event has the same id.
    func tellRefusal(_ app: AppKey, _ schedule: Schedule) async throws(StoreError) {
        if let event = OutgoingEvent.refused(schedule, app) { try await events.add(app, [event]) }
    }

    func settle(
        _ app: AppKey, _ id: PushID, from: [Schedule.State], to: Schedule.State, reason: String?, until: Int64 = 0,
        now: Int64
    ) async throws(StoreError) -> Schedule.State? {
        let reply = try await redis.run(
            Lua.scheduleSettle, keys: ["at": keys.schedule(app, id)],
            [
                "from": .string(from.map(\.rawValue).joined(separator: " ")), "to": .string(to.rawValue),
                "reason": .string(reason ?? ""),
                "now": .int(now), "kept": .int(keys.retention), "heldUntil": .int(until),
            ])
        return try reply.optionalString().flatMap(Schedule.State.init(rawValue:))
    }
}

/// How far this process has looked through the due schedules of each app, when so many wait that one call does not come
/// to their end.
final class DueWalks: Sendable {
    struct Walk {
        /// The last schedule that waits. Nil: the walk is at the beginning.
        var last: String?
        /// Names of which a schedule waits. Later schedules of these are left out, because they must not pass it.
        var names: Set<[UInt8]> = []

        func waits(_ name: [UInt8]?) -> Bool { name.map(names.contains) ?? false }
    }
    private let walks = Mutex<[AppKey: Walk]>([:])

    func take(_ app: AppKey) -> Walk { walks.withLock { $0.removeValue(forKey: app) } ?? Walk() }
    func put(_ app: AppKey, _ walk: Walk) { walks.withLock { $0[app] = walk } }
}
