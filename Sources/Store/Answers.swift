public import LiveActivity
import Redis

/// What APNs answered: how often at all, and how often that a token is dead.
public struct AnswerCounts: Sendable, Hashable {
    public var answers: Int
    /// 400 BadDeviceToken and DeviceTokenNotForTopic.
    public var dead: Int
    /// 410 Unregistered and ExpiredToken.
    public var gone: Int

    public init(answers: Int = 0, dead: Int = 0, gone: Int = 0) {
        self.answers = answers
        self.dead = dead
        self.gone = gone
    }

    public static func += (sum: inout AnswerCounts, other: AnswerCounts) {
        sum.answers += other.answers
        sum.dead += other.dead
        sum.gone += other.gone
    }
}

/// The answers to each app's pushes over the last minutes, counted by the whole fleet.
public struct Answers: Sendable {
    let redis: RedisClient
    let keys: Keyspace

    /// Adds what a worker has counted, by age in minutes, and gives the fleet's sum over the last `window` minutes.
    /// Repeated after a lost answer it counts twice, which makes the guard wary a little earlier.
    public func add(
        _ app: AppKey, _ counted: [(age: Int, counts: AnswerCounts)], window: Int
    ) async throws(StoreError) -> AnswerCounts {
        let arguments = counted.flatMap { age, counts -> [RedisArgument] in
            [.int(age), .int(counts.answers), .int(counts.dead), .int(counts.gone)]
        }
        let reply = try await redis.run([
            RedisCommand(
                Lua.guardCount, keys: [.string(keys.answers(app))], arguments: [.int(max(1, window))] + arguments)
        ])[0]
        return try redisErrors { () throws(RedisError) in
            AnswerCounts(
                answers: try reply[0].integer(), dead: try reply[1].integer(), gone: try reply[2].integer())
        }
    }
}
