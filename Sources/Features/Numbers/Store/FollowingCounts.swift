import LiveActivity
import Redis
import StoreGround
import Synchronization

/// How many followings begin and end in each hour, by all names of an app: counted in each process, and added to Redis
/// a second later. So a crowd of registrations costs one command a second. A process that dies loses a second.
final class FollowingCounts: Sendable {
    private static let wait: Duration = .seconds(1)

    private let redis: RedisClient
    private let keys: Keyspace
    private let time: ServerTime
    private let counts = Mutex<[Key: Followings]>([:])

    private struct Key: Hashable {
        var app: AppKey
        var hour: Int64
    }

    init(_ redis: RedisClient, _ keys: Keyspace, _ time: ServerTime) {
        (self.redis, self.keys, self.time) = (redis, keys, time)
    }

    /// Adds followings. It does not wait for Redis.
    func add(_ app: AppKey, began: Int, ended: Int) {
        let key = Key(app: app, hour: time.now() / Sums.Period.hour.length)
        let isFirst = counts.withLock { counts in
            let isFirst = counts[key] == nil
            counts[key, default: Followings()] += Followings(began: began, ended: ended)
            return isFirst
        }
        if isFirst { Task { await send(key) } }
    }

    private func send(_ key: Key) async {
        try? await Task.sleep(for: Self.wait)
        guard let found = counts.withLock({ $0.removeValue(forKey: key) }) else { return }
        let day = keys.dayFollowers(key.app, key.hour * Sums.Period.hour.length / Sums.Period.day.length)
        let commands = [("began", found.began), ("ended", found.ended)].compactMap { word, count in
            count > 0 ? RedisCommand("HINCRBY", day, .string("\(key.hour) \(word)"), .int(count)) : nil
        }
        // If Redis does not answer, the counts of this second are lost: a repetition might count them twice.
        _ = try? await redis.run(commands + [RedisCommand("PEXPIRE", day, .int(Sums.Period.day.life))])
    }
}

/// Followings that began and ended. One that lapses, because its device registers no more, is not counted.
public struct Followings: Sendable, Hashable {
    public var began = 0
    public var ended = 0

    public init(began: Int = 0, ended: Int = 0) { (self.began, self.ended) = (began, ended) }

    static func += (sum: inout Followings, other: Followings) {
        sum.began += other.began
        sum.ended += other.ended
    }
}

extension FollowingNote {
    static let numbers = FollowingNote { redis, keys, time in
        let counts = FollowingCounts(redis, keys, time)
        return { app, began, ended in counts.add(app, began: began, ended: ended) }
    }
}
