public import LiveActivity
import Redis

/// What APNs answered about tokens: that they are alive (200) or dead. Other answers say nothing about a token.
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
    /// Of a ledger: what says whether a token is alive.
    private static let fields: [RedisArgument] = [
        "delivered", "e:BadDeviceToken", "e:DeviceTokenNotForTopic", "e:Unregistered", "e:ExpiredToken",
    ]

    let redis: RedisClient
    let keys: Keyspace

    /// Adds what a worker has counted, by age in minutes, and gives the fleet's sum over the last `window` minutes, together
    /// with the answers to `pushes` of a name so far: one round trip. Repeated after a lost answer it counts twice, which makes the guard wary a little earlier.
    public func add(
        _ app: AppKey, _ counted: [(age: Int, counts: AnswerCounts)], window: Int,
        pushes: [PushID] = [], of name: ActivityName? = nil
    ) async throws(StoreError) -> (app: AnswerCounts, pushes: [PushID: AnswerCounts]) {
        let arguments = counted.flatMap { age, counts -> [RedisArgument] in
            [.int(age), .int(counts.answers), .int(counts.dead), .int(counts.gone)]
        }
        let count = RedisCommand(
            Lua.guardCount, keys: [.string(keys.answers(app))], arguments: [.int(max(1, window))] + arguments)
        let ledgers = name.map { name in
            pushes.map { RedisCommand("HMGET", [.string(keys.push(keys.tag(app, name), $0))] + Self.fields) }
        }
        let replies = try await redis.run([count] + (ledgers ?? []))
        return try redisErrors { () throws(RedisError) in
            let sum = AnswerCounts(
                answers: try replies[0][0].integer(), dead: try replies[0][1].integer(),
                gone: try replies[0][2].integer())
            var byPush: [PushID: AnswerCounts] = [:]
            for (push, reply) in zip(pushes, replies.dropFirst()) {
                let numbers = try reply.array().map { (field) throws(RedisError) in
                    field.isNil ? 0 : Int(try field.string()) ?? 0
                }
                guard numbers.count == Self.fields.count else { throw .unexpectedReply("HMGET of another length") }
                byPush[push] = AnswerCounts(
                    answers: numbers.reduce(0, +), dead: numbers[1] + numbers[2], gone: numbers[3] + numbers[4])
            }
            return (sum, byPush)
        }
    }
}
