public import LiveActivity
import Redis
public import StoreGround

/// The followers of large names, which the index leaves out: a name's buckets are in the order of the channels' hashes,
/// so one look at one bucket says whether a channel follows. The app's list has each name before its root says that it
/// is large, and until an hour after that has ended.
extension FollowingIndex {
    /// Names in one round trip.
    private static let namesAtOnce = 500
    /// Tokens in one read of a list of channels.
    private static let tokensAtOnce = 2_000

    private func largeNames(_ app: AppKey) async throws(StoreError) -> [PlaceKeys] {
        try await redis.run("ZRANGE", keys.largeNames(app), "0", "-1").names().names
            .map { keys.place(app, .activity($0)) }
    }

    /// The large names that have a record of a channel, be it a tombstone.
    /// - Parameter orMark: or another mark of it, such as a retry queue
    func largeNames(
        _ app: AppKey, of channel: [UInt8], orMark: Bool = false
    ) async throws(StoreError) -> [TokenPlace] {
        var found: [TokenPlace] = []
        for part in try await largeNames(app).parts(of: Self.namesAtOnce) {
            var open = Array(part)
            for _ in 0..<Buckets.countAttempts where !open.isEmpty {
                open = try await ask(open, channel, orMark) { found.append($0.key.tokens) }
            }
            if !open.isEmpty { throw .overtaken }
        }
        return found
    }

    /// - Returns: the names whose number of buckets has changed.
    private func ask(
        _ places: [PlaceKeys], _ channel: [UInt8], _ orMark: Bool, _ take: (PlaceKeys) -> Void
    ) async throws(StoreError) -> [PlaceKeys] {
        var asked: [PlaceKeys] = []
        var commands: [RedisCommand] = []
        for place in places {
            let (tag, count) = (place.tag, buckets.memory.count(place.key))
            let number = try await readable { () async throws(StoreError) in
                try await buckets.numbers(of: ChannelList([channel]), count)[0]
            }
            guard let number else { continue }
            let bucket = keys.bucket(tag, number)
            asked.append(place)
            commands.append(
                RedisCommand(
                    Lua.registryKnows,
                    keys: [
                        "b": keys.root(tag), "bucket": bucket, "h": keys.retryQueues(tag), "x": keys.quarantine(tag),
                        "e": keys.otherEnvironment(tag), "f": keys.lateJoiners(tag), "a": keys.startedChannels(tag),
                        "z": keys.openRequests(tag), "y": keys.newFollowers(tag), "k": keys.catchUp(tag),
                    ],
                    [
                        "knownCount": .string(count.stored), "channel": .bytes(channel),
                        "orMark": .int(orMark ? 1 : 0),
                    ]))
        }
        if commands.isEmpty { return [] }
        var changed: [PlaceKeys] = []
        for (place, reply) in zip(asked, try await redis.run(commands)) {
            if try buckets.isRefused(reply, in: place) {
                changed.append(place)
            } else if try reply.isOne() {
                take(place)
            }
        }
        return changed
    }

    /// Nil for a name whose tokens are in the order of another hash key, as after the loss of the deployment's. Nobody
    /// can use such a name until it expires (ADR 2).
    private func readable<Value>(_ read: () async throws(StoreError) -> Value) async throws(StoreError) -> Value? {
        do {
            return try await read()
        } catch {
            guard case .corrupt = error else { throw error }
            return nil
        }
    }

    /// The followers of large names in neighbouring parts of the index. Part N of these is the one whose number is N
    /// with its bits reversed, because that is the order of the buckets.
    package func followers(
        _ app: AppKey, in parts: Range<Int>, _ take: (_ part: Int, _ channel: [UInt8], _ name: ActivityName) -> Void
    ) async throws(StoreError) {
        let end = ScanPosition(UInt64(parts.upperBound) << 16)
        let key = try await buckets.hashKey()
        for place in try await largeNames(app) {
            guard case .activity(let name) = place.key.tokens else { continue }
            var position = ScanPosition(UInt64(parts.lowerBound) << 16)
            while position < end {
                let read = try await readable { () async throws(StoreError) in
                    try await tokens.page(
                        app, place.key.tokens, from: position, to: end, limit: Self.tokensAtOnce)
                }
                guard let (page, next) = read else { break }
                for index in 0..<page.count {
                    let channel = Array(page.channel(index))
                    let part = Int(key.hash(channel).bitReversed >> 16)
                    if parts.contains(part) { take(part, channel, name) }
                }
                position = next
            }
        }
    }

    /// Takes names off the app's list of large names that are large no more.
    public func tidyLargeNames(_ app: AppKey) async throws(StoreError) {
        let (list, now) = (keys.largeNames(app), buckets.clock())
        let due = try await redis.run("ZRANGEBYSCORE", list, "-inf", .int(now)).names().names
            .map { keys.place(app, .activity($0)) }
        if due.isEmpty { return }
        let counts = try await redis.run(due.map { RedisCommand("HGET", keys.root($0.tag), "n") })
        var listings: [RedisCommand] = []
        for (place, count) in zip(due, counts) {
            if let listing = buckets.listing(place, try BucketCount(count)) { listings.append(listing) }
        }
        if !listings.isEmpty { try await redis.run(listings) }
        // A name that has become large meanwhile has a later time.
        try await redis.run("ZREMRANGEBYSCORE", list, "-inf", .int(now))
    }
}
