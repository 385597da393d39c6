public import LiveActivity
import Redis

/// How long work of one app has waited, in milliseconds; 0 where none waits.
public struct QueueAge: Sendable, Hashable {
    public var app: AppKey
    /// The oldest entry of a stream that no worker has read yet. An entry that a worker works on stays in the stream
    /// too, but does not wait: a push under a cap of the rate may take minutes.
    public var pushesHigh: Int64 = 0
    public var pushesLow: Int64 = 0
    public var shardTasks: Int64 = 0
    /// How late the first task of the timer is. No worker moves it.
    public var retriesDue: Int64 = 0
    /// How late the first schedule is.
    public var schedules: Int64 = 0
    /// How many schedules wait, also those whose time is not reached.
    public var waitingSchedules = 0
}

extension WorkQueue {
    /// - Parameter now: epoch ms of Redis's clock
    public func age(_ apps: [AppKey], now: Int64) async throws(StoreError) -> [QueueAge] {
        let partitions = keys.allPartitions
        let streams = streams(apps)
        let groups = try await redis.replies(streams.map { RedisCommand("XINFO", ["GROUPS", .key($0)]) })
        var unread: [RedisKey: RedisArgument] = [:]
        for (stream, reply) in zip(streams, groups) { unread[stream] = try Self.firstUnread(reply) }
        var questions: [RedisCommand] = []
        for app in apps {
            for partition in partitions {
                questions += WorkStream.allCases.map {
                    let stream = keys.stream(app, $0, partition)
                    return RedisCommand("XRANGE", stream, unread[stream] ?? "-", "+", "COUNT", "1")
                }
                questions.append(RedisCommand("ZRANGE", keys.due(app, partition), "0", "0", "WITHSCORES"))
            }
            questions.append(RedisCommand("ZRANGE", keys.at(app), "0", "0", "WITHSCORES"))
            questions.append(RedisCommand("ZCARD", keys.at(app)))
        }
        var rest = try await redis.run(questions)[...]
        return try apps.map { app throws(StoreError) in
            var age = QueueAge(app: app)
            for _ in partitions {
                age.pushesHigh = max(age.pushesHigh, try Self.age(rest.removeFirst(), now))
                age.pushesLow = max(age.pushesLow, try Self.age(rest.removeFirst(), now))
                for _ in 0..<2 { age.shardTasks = max(age.shardTasks, try Self.age(rest.removeFirst(), now)) }
                age.retriesDue = max(age.retriesDue, try Self.lateness(rest.removeFirst(), now))
            }
            age.schedules = try Self.lateness(rest.removeFirst(), now)
            age.waitingSchedules = try rest.removeFirst().integer()
            return age
        }
    }

    /// Where a stream's entries begin that no worker has read. An entry that is read meanwhile still counts.
    /// - Parameter groups: the answer to `XINFO GROUPS`
    private static func firstUnread(_ groups: Reply) throws(StoreError) -> RedisArgument {
        // The first worker makes the stream with its group. Before that, nothing was read.
        if groups.error != nil { return "-" }
        for group in try groups.array() {
            let fields = try fields(of: group)
            guard try fields["name"]?.string() == Self.group else { continue }
            guard let last = try fields["last-delivered-id"]?.string() else { break }
            return .string("(\(last)")
        }
        return "-"
    }

    /// An entry's id begins with the time (ms) when Redis added it.
    static func age(_ entries: Reply, _ now: Int64) throws(StoreError) -> Int64 {
        guard let id = try entries.array().first?.entry().id else { return 0 }
        return max(0, now - (Int64(id.prefix { $0 != "-" }) ?? now))
    }

    private static func lateness(_ first: Reply, _ now: Int64) throws(StoreError) -> Int64 {
        max(0, now - (try first.firstTime() ?? now))
    }
}
