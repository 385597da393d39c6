import LiveActivity
import Logging
import Redis
import Synchronization
import TestSupport

@testable import Store

/// A store on its own server, with a clock that moves only when the test moves it.
final class RegistryFixture: Sendable {
    let server: RedisServer
    let redis: RedisClient
    let keys = Keyspace(prefix: "ll")
    let registry: Registry
    let channels: Channels
    let time: TestTime
    let app: AppKey
    let name: ActivityName

    private init(server: RedisServer) throws {
        let time = TestTime()
        self.server = server
        self.time = time
        redis = RedisClient(url: server.url, scripts: Store.scripts, logger: Logger(label: "test"))
        registry = Self.registry(redis, keys, time)
        channels = Channels(redis: redis, keys: keys, followings: registry.followings) { time.now }
        app = try AppKey("app")
        name = try ActivityName("match-42")
    }

    /// The view of another process: the same Redis, but no cached state.
    func otherRegistry() -> Registry {
        Self.registry(redis, keys, time)
    }

    private static func registry(_ redis: RedisClient, _ keys: Keyspace, _ time: TestTime) -> Registry {
        let buckets = Buckets(redis: redis, keys: keys) { time.now }
        let tokens = Tokens(buckets)
        return Registry(tokens, FollowingIndex(tokens))
    }

    /// How many buckets the name has.
    func buckets(_ name: ActivityName? = nil) async throws -> Int {
        try await registry.tokens.bucketCount(keys.place(app, .activity(name ?? self.name))).buckets
    }

    static func run(extra: [String] = [], _ body: (RegistryFixture) async throws -> Void) async throws {
        let fixture = try RegistryFixture(server: await RedisServer.start(extra: extra))
        do {
            try await body(fixture)
        } catch {
            await fixture.redis.close()
            fixture.server.stop()
            throw error
        }
        await fixture.redis.close()
        fixture.server.stop()
    }

    /// Reads the whole name: the token of each channel in stored form, and in `repeated` the channels that came twice.
    func scan(
        _ registry: Registry? = nil, from: ScanPosition = .start, to: ScanPosition = .end, limit: Int = 500
    ) async throws -> (tokens: [[UInt8]: [UInt8]], repeated: [[UInt8]]) {
        var tokens: [[UInt8]: [UInt8]] = [:]
        var repeated: [[UInt8]] = []
        var position = from
        while position < to {
            let (page, next) = try await (registry ?? self.registry).tokens.page(
                app, .activity(name), from: position, to: to, limit: limit)
            precondition(next > position, "a scan must move on")
            for index in 0..<page.count {
                let channel = Array(page.channel(index))
                if tokens.updateValue(Array(page.token(index)), forKey: channel) != nil { repeated.append(channel) }
            }
            position = next
        }
        return (tokens, repeated)
    }

    func command(_ name: String, _ arguments: RedisArgument...) async throws -> RedisReply {
        try await redis.send(RedisCommand(name, arguments))
    }

    func command(_ name: String, _ key: RedisKey, _ arguments: RedisArgument...) async throws -> RedisReply {
        try await redis.send(RedisCommand(name, key, arguments))
    }

    var tag: String { keys.tag(app, name) }
    var root: RedisKey { keys.root(tag) }
}

extension Registry {
    /// The names as the same process sees them.
    var names: Names { Names(tokens) }
}

final class TestTime: Sendable {
    /// 2026-11-21 12:00:00 UTC
    static let start: Int64 = 1_795_262_400_000
    private let value = Mutex(start)
    var now: Int64 { value.withLock { $0 } }
    func set(_ time: Int64) { value.withLock { $0 = time } }
    func advance(hours: Double) { value.withLock { $0 += Int64(hours * 3_600_000) } }
}

extension PushToken {
    /// A token of 80 bytes that only this number has.
    static func test(_ number: Int) -> PushToken {
        var bytes = [UInt8](repeating: 0xA5, count: 80)
        for index in 0..<8 { bytes[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        return PushToken(bytes: bytes) ?? { fatalError("80 bytes are a token") }()
    }
}

extension ChannelID {
    static func numbered(_ number: Int) -> ChannelID { try! ChannelID("device-\(number)") }
}
