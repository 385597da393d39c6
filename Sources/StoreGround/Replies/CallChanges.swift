package import Redis
import Synchronization

/// Notes whether a call has changed something in Redis, so that the answer after a failure can say so. A call consists
/// of several commands: Redis may refuse the last one, or be away by then, although the first one was executed.
public final class CallChanges: Sendable {
    @TaskLocal private static var current: CallChanges?
    private let mayExist = Atomic<Bool>(false)

    /// Runs a call. The commands of its child tasks belong to it.
    public static func noting<Answer>(_ call: () async -> Answer) async -> Answer {
        await $current.withValue(CallChanges()) { await call() }
    }

    /// Runs a part of a call whose changes nobody sees.
    package static func leavingOut<Answer: Sendable>(
        _ part: () async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        let outcome: Result<Answer, StoreError> = await $current.withValue(nil) {
            do throws(StoreError) { return .success(try await part()) } catch { return .failure(error) }
        }
        return try outcome.get()
    }

    /// Whether a command of the call has changed something, or may have. True outside of calls.
    public static var mayHaveBegun: Bool { current?.mayExist.load(ordering: .relaxed) ?? true }

    /// Another task may have changed something for this call.
    package static func note() { current?.mayExist.store(true, ordering: .relaxed) }

    /// Notes what became of commands that were sent together.
    package static func note(_ commands: [RedisCommand], _ outcome: Result<[RedisReply], RedisError>) {
        guard let current, !current.mayExist.load(ordering: .relaxed) else { return }
        let executed =
            switch outcome {
            case .success(let replies): zip(commands, replies).contains { $1.error == nil && $0.mayChange }
            case .failure(.lost), .failure(.unexpectedReply): commands.contains(where: \.mayChange)
            case .failure: false
            }
        if executed { note() }
    }
}

extension RedisCommand {
    /// Commands that only read, or only change how long a key lives.
    private static let reading = Set(
        """
        CONFIG EXISTS EXPIRE GET HEXISTS HGET HGETALL HKEYS HLEN HMGET HSCAN HVALS INFO MGET PEXPIRE PING PTTL ROLE
        SCARD SISMEMBER SMEMBERS SMISMEMBER SSCAN STRLEN TIME TTL TYPE XINFO XLEN XPENDING XRANGE XREVRANGE ZCARD
        ZCOUNT ZMSCORE ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK
        ZSCAN ZSCORE
        """.split(whereSeparator: \.isWhitespace).map(String.init))

    /// True for every script, although some only read.
    fileprivate var mayChange: Bool { !Self.reading.contains(name) }
}
