public import LiveActivity
package import Redis

extension WorkQueue {
    /// Puts a task into the timer for `due` (epoch ms). If it is there with an earlier time, that time stays.
    public func schedule(_ item: WorkItem, due: Int64) async throws(StoreError) {
        try await redis.run([Self.putOff(keys, item, due: due)])
        wakeup.ring(due)
    }

    package static func putOff(_ keys: Keyspace, _ item: WorkItem, due: Int64) -> RedisCommand {
        RedisCommand("ZADD", keys.due(of: item), "LT", .int(due), .string(item.member))
    }

    /// When the first timer of each kind is due. Leaves out timers of a node that is away.
    /// - Parameters:
    ///   - ending: apps with automatic ends.
    ///   - paused: apps whose tasks stay in the timer.
    public func nextDue(
        _ apps: [AppKey], ending: [AppKey] = [], paused: Set<AppKey> = []
    ) async throws(StoreError) -> NextDue {
        let timers = TimerKeys(keys, apps, ending: ending, paused: paused)
        return try timers.nextDue(await sparse.read(timers.all, redis, TimerKeys.first).found)
    }

    /// Moves due tasks into the streams, at most `limit` of each app. A task stays in the timer until it is moved, and
    /// one on a node that is away stays there.
    /// - Returns: how many tasks were moved, and how many members that no version writes were dropped by this call.
    public func moveDue(
        _ apps: [AppKey], now: Int64, limit: Int
    ) async throws(StoreError) -> (moved: Int, unreadable: [AppKey: Int]) {
        let timers = keys.allPartitions.flatMap { partition in apps.map { (app: $0, partition: partition) } }
        let replies = try await redis.apart(
            timers.map {
                RedisCommand(
                    "ZRANGEBYSCORE", keys.due($0.app, $0.partition), "-inf", .int(now), "LIMIT", "0", .int(limit))
            })
        var moves: [(command: RedisCommand, dropsOf: AppKey?)] = []
        for ((app, partition), reply) in zip(timers, replies) {
            guard let reply else { continue }
            let due = keys.due(app, partition)
            for task in try reply.byteStrings() {
                guard let text = String(validating: task, as: UTF8.self), let item = WorkItem(member: text),
                    item.app == app
                else {
                    moves.append((RedisCommand("ZREM", due, .bytes(task)), app))
                    continue
                }
                let move = RedisCommand(
                    Lua.queueDue, keys: ["due": due, "stream": keys.stream(app, item.stream, partition)],
                    ["task": .bytes(task), "now": .int(now)], rest: item.entry)
                moves.append((move, nil))
            }
        }
        if moves.isEmpty { return (0, [:]) }
        var (moved, unreadable) = (0, [AppKey: Int]())
        for (move, reply) in zip(moves, try await redis.apart(moves.map(\.command))) {
            guard let count = try reply?.integer(), count > 0 else { continue }
            if let app = move.dropsOf { unreadable[app, default: 0] += count } else { moved += count }
        }
        return (moved, unreadable)
    }

    public func depth(_ apps: [AppKey]) async throws(StoreError) -> [QueueDepth] {
        let replies = try await redis.run(apps.flatMap { keys.depth($0) })
        return try apps.enumerated().map { index, app throws(StoreError) in
            var depth = QueueDepth(app: app)
            for start in stride(from: 0, to: keys.depthCommands, by: Keyspace.depthsOfPartition) {
                let first = index * keys.depthCommands + start
                let lengths = try replies[first..<first + Keyspace.depthsOfPartition].map {
                    reply throws(StoreError) in try reply.integer()
                }
                depth.pushesHigh += lengths[0]
                depth.pushesLow += lengths[1]
                depth.shardTasks += lengths[2] + lengths[3]
                depth.retriesDue += lengths[4]
            }
            return depth
        }
    }
}

extension Keyspace {
    static let depthsOfPartition = WorkStream.allCases.count + 1
    package var depthCommands: Int { partitions * Self.depthsOfPartition }

    /// Commands for the lengths of an app's streams, in the order of `WorkStream.allCases`, and of its timer, for each
    /// partition.
    package func depth(_ app: AppKey) -> [RedisCommand] {
        allPartitions.flatMap { partition in
            WorkStream.allCases.map { RedisCommand("XLEN", stream(app, $0, partition)) }
                + [RedisCommand("ZCARD", due(app, partition))]
        }
    }
}

/// The timers at which a worker looks.
package struct TimerKeys: Sendable {
    private let tasks: [RedisKey]
    private let schedules: [RedisKey]
    private let ends: [RedisKey]
    private let broadcastChannels: [(app: AppKey, timer: RedisKey)]

    package init(_ keys: Keyspace, _ apps: [AppKey], ending: [AppKey], paused: Set<AppKey>) {
        let moving = apps.filter { !paused.contains($0) }
        tasks = keys.allPartitions.flatMap { partition in moving.map { keys.due($0, partition) } }
        schedules = apps.map(keys.at)
        ends = ending.flatMap { [keys.ends($0), keys.claimedEnds($0)] }
        broadcastChannels = apps.map { ($0, keys.broadcastTimers($0)) }
    }

    package var all: [RedisKey] { tasks + schedules + ends + broadcastChannels.map(\.timer) }

    /// Reads the first entry of a timer.
    package static func first(_ timer: RedisKey) -> RedisCommand {
        RedisCommand("ZRANGE", timer, "0", "0", "WITHSCORES")
    }

    /// - Parameter replies: those to `first`, for the timers that have an entry.
    package func nextDue(_ replies: [RedisKey: Reply]) throws(StoreError) -> NextDue {
        func first(_ timers: [RedisKey]) throws(StoreError) -> Int64? {
            var due: Int64?
            for timer in timers {
                guard let time = try replies[timer]?.firstTime() else { continue }
                due = min(due ?? time, time)
            }
            return due
        }
        var next = NextDue(task: try first(tasks), schedule: try first(schedules), end: try first(ends))
        for (app, timer) in broadcastChannels { next.broadcastChannels[app] = try first([timer]) }
        return next
    }
}

/// When the first timer of each kind is due, epoch milliseconds; nil: none waits.
public struct NextDue: Sendable, Hashable {
    /// A task of the timer. It goes back to its stream when it is due.
    public var task: Int64?
    public var schedule: Int64?
    /// For each app: the first broadcast channel that is to be made or deleted.
    public var broadcastChannels: [AppKey: Int64] = [:]
    /// The first name with cards that are to be ended automatically.
    public var end: Int64?
}

/// How much work of one app waits.
public struct QueueDepth: Sendable, Hashable {
    public var app: AppKey
    public var pushesHigh = 0
    public var pushesLow = 0
    public var shardTasks = 0
    /// Tasks that wait for their time: retries, and the work of an app whose circuit is open.
    public var retriesDue = 0

    package init(app: AppKey) { self.app = app }
}
