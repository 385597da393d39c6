public import LiveActivity
package import Redis
public import StoreGround

/// The index from channels to the places where they have tokens. It is written before the registration, so it has at
/// least all of them; a reader looks into each place, which decides. So removals and prunes need not touch it.
/// docs/adr/0019-channel-index.md has the reasons.
extension Registry {
    /// An entry outlives its registration by this many milliseconds, because processes' clocks differ.
    private static let followingSlack: Int64 = 3_600_000

    /// The commands that note registrations in the index.
    package func noteFollowings(
        _ place: PlaceKeys, _ records: [(channel: [UInt8], retention: Int64)], now: Int64
    ) async throws(StoreError) -> [RedisCommand] {
        let key = try await deploymentHashKey()
        let stored = Array(place.key.tokens.stored.utf8)
        return records.map { channel, retention in
            RedisCommand(
                "HSET", keys.followings(place.key.app, FollowingIndex.bucket(of: channel, key)),
                .bytes(FollowingIndex.field(channel, stored)),
                .bytes(FollowingIndex.minutes(now + retention + Self.followingSlack)))
        }
    }

    /// The commands that note channels themselves in the index, as if they were at a place without a name.
    /// - Parameter life: of a channel; zero: for ever
    func noteChannels(
        _ app: AppKey, _ channels: [[UInt8]], life: Duration
    ) async throws(StoreError) -> [RedisCommand] {
        let key = try await deploymentHashKey()
        let until: Int64 = life == .zero ? .max : clock() + life.milliseconds + Self.followingSlack
        return channels.map { channel in
            RedisCommand(
                "HSET", keys.followings(app, FollowingIndex.bucket(of: channel, key)),
                .bytes(FollowingIndex.field(channel, [])), .bytes(FollowingIndex.minutes(until)))
        }
    }

    /// The places at which the index says that a channel may have a token.
    package func notedPlaces(_ app: AppKey, _ channel: [UInt8]) async throws(StoreError) -> [TokenPlace] {
        let key = try await deploymentHashKey()
        let bucket = try await redis.run("HKEYS", keys.followings(app, FollowingIndex.bucket(of: channel, key)))
        let places = try bucket.byteStrings().compactMap { FollowingIndex.place($0, of: channel) }
        return places.sorted { $0.stored.utf8.lexicographicallyPrecedes($1.stored.utf8) }
    }

    /// Drops the expired entries of a few buckets, chosen at random.
    /// - Returns: how many entries were dropped.
    public func tidyFollowings(_ app: AppKey, buckets: Int) async throws(StoreError) -> Int {
        let now = FollowingIndex.minutes(clock())
        let replies = try await redis.run(
            (0..<buckets).map { _ in
                RedisCommand(
                    Lua.followingTidy, keys: ["fo": keys.followings(app, .random(in: 0..<FollowingIndex.buckets))],
                    ["now": .bytes(now)])
            })
        var dropped = 0
        for reply in replies { dropped += try reply.integer() }
        return dropped
    }
}

/// How the index lies in Redis: a fixed number of hashes, which the channel's hash chooses. A field is the length of
/// the channel's stored form, that form and the place's; the value is until when it may be true.
package enum FollowingIndex {
    /// With 33 million entries a hash has 512, the most that config/redis.conf keeps in the compact encoding.
    package static let buckets = 1 << 16

    package static func bucket(of channel: [UInt8], _ key: RegistryHashKey) -> Int {
        Int(key.hash(channel)) & (buckets - 1)
    }

    package static func field(_ channel: [UInt8], _ place: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: channel.count)] + channel + place
    }

    /// The place of a field, if the field is the channel's.
    package static func place(_ field: [UInt8], of channel: [UInt8]) -> TokenPlace? {
        guard field.first.map(Int.init) == channel.count, field.dropFirst().starts(with: channel),
            let text = String(validating: field.dropFirst(1 + channel.count), as: UTF8.self)
        else { return nil }
        return try? TokenPlace(stored: text)
    }

    /// The channel of a field, in its stored form.
    package static func channel(_ field: ArraySlice<UInt8>) -> [UInt8]? {
        guard let length = field.first, length > 0, field.count > Int(length) else { return nil }
        return Array(field.dropFirst().prefix(Int(length)))
    }

    /// Minutes since 2020 in three bytes, which reach to 2051.
    package static func minutes(_ milliseconds: Int64) -> [UInt8] {
        let minutes = min(max(0, (milliseconds - RegistryRecord.epoch) / 60_000), 0xFF_FFFF)
        return [16, 8, 0].map { UInt8(truncatingIfNeeded: minutes >> $0) }
    }
}
