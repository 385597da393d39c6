public import LiveActivity
package import Redis
public import StoreGround

/// The exchanges with APNs for one channel of a push that was published with `options.trace`. They have a record of
/// their own. The push itself says only that it is traced, so that no other push costs a command.
public struct ExchangeLog: Sendable {
    /// A trace holds the id of a channel, so it does not live as long as its push.
    public static let life: Duration = .seconds(86_400)
    /// The newest ones are kept.
    public static let mostExchanges = 10
    private static let channelField = "channel"
    private static let totalField = "total"

    public struct Found: Sendable, Hashable {
        public var channel: ChannelID
        /// How many exchanges were noted.
        public var total = 0
        /// The newest of them, in their order. JSON, as it was noted.
        public var exchanges: [[UInt8]] = []
    }

    package let redis: RedisClient
    package let keys: Keyspace

    package init(redis: RedisClient, keys: Keyspace) {
        self.redis = redis
        self.keys = keys
    }

    /// The commands that begin a trace, before the push is committed. They may be repeated.
    package static func open(_ keys: Keyspace, _ tag: String, _ push: PushID, _ channel: ChannelID) -> [RedisCommand] {
        let key = keys.trace(tag, push)
        return [
            RedisCommand("HSET", key, .string(channelField), .bytes(channel.stored)),
            RedisCommand("PEXPIRE", key, .int(life.milliseconds)),
        ]
    }

    /// The stored form of the channel that the push traces; nil: the trace has expired.
    public func channel(_ app: AppKey, _ name: ActivityName, _ push: PushID) async throws(StoreError) -> [UInt8]? {
        let key = keys.trace(keys.tag(app, name), push)
        return try await redis.run("HGET", key, .string(Self.channelField)).optionalBytes().map { Array($0) }
    }

    /// Notes exchanges. Each has a number. If the process dies in between, numbers are missing, and no harm is done.
    public func add(
        _ app: AppKey, _ name: ActivityName, _ push: PushID, _ exchanges: [[UInt8]]
    ) async throws(StoreError) {
        let key = keys.trace(keys.tag(app, name), push)
        let last = try await redis.run("HINCRBY", key, .string(Self.totalField), .int(exchanges.count)).integer()
        let fields = exchanges.suffix(Self.mostExchanges).enumerated().flatMap { position, exchange in
            let number = last - min(exchanges.count, Self.mostExchanges) + 1 + position
            return [
                RedisArgument.string("\(number % Self.mostExchanges)"), .bytes(Array("\(number) ".utf8) + exchange),
            ]
        }
        try await redis.run([
            RedisCommand("HSET", key, fields), RedisCommand("PEXPIRE", key, .int(Self.life.milliseconds)),
        ])
    }

    /// Nil if the push is not traced, or its trace has expired.
    public func find(_ app: AppKey, _ name: ActivityName, _ push: PushID) async throws(StoreError) -> Found? {
        let fields = try await redis.hash(keys.trace(keys.tag(app, name), push))
        guard let channel = fields.bytes(Self.channelField).flatMap({ ChannelID(stored: Array($0)) }) else {
            return nil
        }
        let numbered = (0..<Self.mostExchanges).compactMap { place -> (number: Int, exchange: [UInt8])? in
            guard let value = fields.bytes("\(place)"), let space = value.firstIndex(of: UInt8(ascii: " ")),
                let number = StoredNumber.read(String(decoding: value[..<space], as: UTF8.self))
            else { return nil }
            return (number, Array(value[(space + 1)...]))
        }
        return Found(
            channel: channel, total: fields.number(Self.totalField) ?? 0,
            exchanges: numbered.sorted { $0.number < $1.number }.map(\.exchange))
    }
}
