public import LiveActivity
package import Redis
public import StoreGround

/// The index from channels to the places where they have tokens. It is written before the registration, so it has at
/// least all of them; a reader looks into each place, which decides. So removals and prunes need not touch it.
/// docs/adr/0019-channel-index.md has the reasons.
///
/// It leaves out the followers of large names. A question about a channel asks each large name
/// (`FollowingIndex+large.swift`).
///
/// It is a fixed number of hashes, which the channel's hash chooses. A field is the length of the channel's stored
/// form, that form and the place's; the value is until when it may be true. A note that is to be dropped is set aside
/// first, under the field with a 0 before it, until no registration behind it can be on its way any more.
public struct FollowingIndex: Sendable {
    /// With 33 million entries a hash has 512, the most that config/redis.conf keeps in the compact encoding.
    public static let size = 1 << 16
    /// Hashes in one round trip of tidying, because Redis serves nobody else meanwhile.
    private static let hashesAtOnce = 30
    /// An entry outlives its registration by this many milliseconds, because processes' clocks differ.
    private static let slack: Int64 = 3_600_000
    /// Milliseconds for which a note is set aside: longer than any command waits.
    static let wait: Int64 = 30_000
    /// Tidying drops what was set aside after this many milliseconds, if nobody came back to it.
    private static let asideLife: Int64 = 86_400_000

    let tokens: Tokens
    var buckets: Buckets { tokens.buckets }
    var redis: RedisClient { tokens.redis }
    var keys: Keyspace { tokens.keys }

    package init(_ tokens: Tokens) { self.tokens = tokens }

    package typealias Note = (_ channel: [UInt8], _ hash: UInt32, _ retention: Int64) -> RedisCommand

    /// Makes the commands that note registrations at a place, each from the channel, its hash under the deployment's
    /// key, and the time (ms) for which the place is kept.
    package func notes(_ place: PlaceKeys, now: Int64) -> Note {
        let stored = Array(place.key.tokens.stored.utf8)
        return { channel, hash, retention in
            note(place.key.app, channel, hash, stored, until: now + retention + Self.slack)
        }
    }

    /// The commands that note channels themselves, as if they were at a place without a name.
    /// - Parameter life: of a channel; zero: for ever
    package func notes(_ app: AppKey, _ channels: [[UInt8]], life: Duration) async throws(StoreError) -> [RedisCommand]
    {
        let key = try await buckets.hashKey()
        let until: Int64 = life == .zero ? .max : buckets.clock() + life.milliseconds + Self.slack
        return channels.map { note(app, $0, key.hash($0), [], until: until) }
    }

    private func note(
        _ app: AppKey, _ channel: [UInt8], _ hash: UInt32, _ place: [UInt8], until: Int64
    ) -> RedisCommand {
        RedisCommand(
            "HSET", keys.followings(app, Self.bucket(of: hash)), .bytes(Self.field(channel, place)),
            .bytes(Self.minutes(until)))
    }

    /// Notes that a channel may have a token at a place, for as long as any token is kept there.
    package func note(_ app: AppKey, _ channel: [UInt8], _ tokens: TokenPlace) async throws(StoreError) {
        let place = keys.place(app, tokens)
        let hash = try await buckets.hashKey().hash(channel)
        try await redis.run([notes(place, now: buckets.clock())(channel, hash, place.lifetime.retention)])
    }

    /// The places at which a channel may have a token, with the places whose note is set aside.
    /// - Parameter orMark: also large names that have no record of the channel, but another mark
    package func places(
        _ app: AppKey, _ channel: [UInt8], orMark: Bool = false
    ) async throws(StoreError) -> [TokenPlace] {
        let fields = try await fields(app, channel)
        let noted = Set(fields.compactMap { Self.place($0.first == 0 ? Array($0.dropFirst()) : $0, of: channel) })
        let places = noted.union(try await largeNames(app, of: channel, orMark: orMark))
        return places.sorted { $0.stored.utf8.lexicographicallyPrecedes($1.stored.utf8) }
    }

    /// Whether a channel has a note, or a record at a large name. A channel that was forgotten has none.
    package func has(_ app: AppKey, _ channel: [UInt8]) async throws(StoreError) -> Bool {
        if try await fields(app, channel).contains(where: { Self.place($0, of: channel) != nil }) { return true }
        return try await !largeNames(app, of: channel).isEmpty
    }

    private func fields(_ app: AppKey, _ channel: [UInt8]) async throws(StoreError) -> [[UInt8]] {
        let key = try await buckets.hashKey()
        return try await redis.run("HKEYS", keys.followings(app, Self.bucket(of: channel, key))).byteStrings()
    }

    /// Drops a channel's notes, in two calls: the first one sets them aside, and a later one drops them if the channel
    /// still has nothing there. A registration writes its note first, so a note may be of one that is on its way.
    /// - Parameter places: the places whose notes are dropped; nil for the note of the channel itself
    /// - Returns: false if a note is left, set aside. The caller looks at the places again, then calls again.
    package func drop(
        _ app: AppKey, _ channel: [UInt8], _ places: [TokenPlace]? = nil
    ) async throws(StoreError) -> Bool {
        let key = try await buckets.hashKey()
        let hash = keys.followings(app, Self.bucket(of: channel, key))
        let now = buckets.clock()
        let commands = (places.map { $0.map { Array($0.stored.utf8) } } ?? [[]]).map { place in
            let field = Self.field(channel, place)
            return RedisCommand(
                Lua.followingDrop, keys: ["fo": hash],
                [
                    "note": .bytes(field), "aside": .bytes([0] + field),
                    "expires": .bytes(Self.minutes(now + Self.asideLife)), "now": .int(now), "wait": .int(Self.wait),
                ])
        }
        var isGone = true
        for reply in try await redis.run(commands) where try !reply.isOne() { isGone = false }
        return isGone
    }

    /// Drops the expired entries of `count` of its hashes, from number `first` on, in a ring.
    /// - Returns: how many entries were dropped.
    public func tidy(_ app: AppKey, from first: Int, count: Int) async throws(StoreError) -> Int {
        let all = (first..<first + count).map { keys.followings(app, $0 % Self.size) }
        let there = try await redis.worthReading(all)
        let hashes = all.filter(there.contains)
        let now = RedisArgument.bytes(Self.minutes(buckets.clock()))
        var dropped = 0
        for part in hashes.parts(of: Self.hashesAtOnce) {
            let replies = try await redis.run(
                part.map { RedisCommand(Lua.followingTidy, keys: ["fo": $0], ["now": now]) })
            for reply in replies { dropped += try reply.integer() }
        }
        return dropped
    }
}

/// The bytes.
extension FollowingIndex {
    package static func bucket(of channel: [UInt8], _ key: RegistryHashKey) -> Int { bucket(of: key.hash(channel)) }
    package static func bucket(of hash: UInt32) -> Int { Int(hash) & (size - 1) }

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
