public import LiveActivity
package import Redis
public import StoreGround

/// Reads the tokens of a name or of an attributes type: the tokens of single channels, or all tokens
/// (`Tokens+scan.swift`).
public struct Tokens: Sendable {
    package let buckets: Buckets
    package var redis: RedisClient { buckets.redis }
    package var keys: Keyspace { buckets.keys }
    /// Epoch milliseconds.
    package var clock: @Sendable () -> Int64 { buckets.clock }

    package init(_ buckets: Buckets) { self.buckets = buckets }

    /// A channel's registration under a name, as far as a push needs it.
    package struct Entry: Sendable, Hashable {
        package var token: [UInt8]
        /// Epoch ms.
        package var registeredAt: Int64
        package var isInfrequent: Bool
        /// Minutes from the activity's start to the registration; negative if it starts later.
        package var minutes: Int32
        package var platform: Platform

        package var startedAt: Int64 { registeredAt - Int64(minutes) * 60_000 }
    }

    /// As many channels of a bucket are read with the whole bucket, because Redis looks each field up from the bucket's
    /// beginning.
    package static let wholeBucket = 32

    package typealias Found = (entries: [Entry?], removals: [Int64?], more: [Reply])

    package func lookup(
        _ place: PlaceKeys, _ channels: [[UInt8]], and more: [RedisCommand] = []
    ) async throws(StoreError) -> Found {
        try await lookup(place, ChannelList(channels), and: more)
    }

    /// Looks channels up in one round trip, and reads `more` at the same moment.
    /// - Returns: the entries in order; nil for a channel that is not tracked or whose registration's life is over. And
    ///   when the app removed each channel whose card no `end` of ours had ended, epoch ms; 0: it has an older record.
    package func lookup(
        _ place: PlaceKeys, _ channels: ChannelList, and more: [RedisCommand] = []
    ) async throws(StoreError) -> Found {
        let now = clock()
        return try await buckets.withCount(place) { count throws(StoreError) -> Found? in
            let numbers = try await buckets.numbers(of: channels, count)
            let byBucket = Dictionary(grouping: channels.indices) { numbers[$0] }
                .map { (bucket: $0.key, indices: $0.value) }
            let commands =
                [RedisCommand("HGET", keys.root(place.tag), "n")] + more
                + byBucket.map { bucket, indices in
                    let key = keys.bucket(place.tag, bucket)
                    return indices.count < Self.wholeBucket
                        ? RedisCommand("HMGET", key, indices.map { .bytes(Array(channels[$0])) })
                        : RedisCommand("HGETALL", key)
                }
            var replies = try await redis.atOnce(commands)[...]
            guard try buckets.rememberCount(replies.removeFirst(), of: place, known: count) == count else { return nil }
            var entries = [Entry?](repeating: nil, count: channels.count)
            var removals = [Int64?](repeating: nil, count: channels.count)
            for ((_, indices), reply) in zip(byBucket, replies.dropFirst(more.count)) {
                try Self.forEachValue(reply, of: indices, channels) { index, value in
                    let reading = RegistryRecord.read(value, now: now, place.lifetime)
                    guard
                        case .live(let offset, let registeredAt, let isInfrequent, let minutes, let platform) = reading
                    else {
                        removals[index] = RegistryRecord.removal(of: value) ?? 0
                        return
                    }
                    entries[index] = Entry(
                        token: Array(value[offset...]), registeredAt: registeredAt, isInfrequent: isInfrequent,
                        minutes: minutes, platform: platform)
                }
            }
            return (entries, removals, Array(replies.prefix(more.count)))
        }
    }

    /// Visits the records of the channels of a bucket that have one. A record's bytes are valid during the call.
    private static func forEachValue(
        _ reply: Reply, of indices: [Int], _ channels: ChannelList,
        _ body: (_ index: Int, _ value: UnsafeRawBufferPointer) -> Void
    ) throws(StoreError) {
        if indices.count < wholeBucket {
            try StoreError.check(reply.count, of: "HMGET", is: indices.count)
            for (position, index) in indices.enumerated() where !reply[position].isNil {
                try reply[position].bytes().withUnsafeBytes { body(index, $0) }
            }
        } else {
            // A table of lists: to make an array of bytes of each of the bucket's fields would cost more than all else
            // here. A bucket is small, so that channels which an app chose to lie in one list do no harm.
            let mask = 1 << (Int.bitWidth - indices.count.leadingZeroBitCount) - 1
            var first = [Int](repeating: -1, count: mask + 1)
            var next = [Int](repeating: -1, count: indices.count)
            for (place, index) in indices.enumerated() {
                let list = channels.withBytes(index) { Int(truncatingIfNeeded: $0.fnv1a) } & mask
                (next[place], first[list]) = (first[list], place)
            }
            try reply.forEachPair { channel, value in
                var place = first[Int(truncatingIfNeeded: channel.fnv1a) & mask]
                while place >= 0 {
                    let index = indices[place]
                    if channels.withBytes(index, { $0.elementsEqual(channel) }) { body(index, value) }
                    place = next[place]
                }
            }
        }
    }

    /// The tracked ones among these channels, with their present tokens. One round trip.
    public func lookup(
        _ app: AppKey, _ tokens: TokenPlace, _ channels: [[UInt8]]
    ) async throws(StoreError) -> (page: TokenPage, counts: BlockCounts) {
        let place = keys.place(app, tokens)
        let (entries, _, replies) = try await lookup(place, channels, and: BlockCounts.commands(keys, place.tag))
        var counts = BlockCounts()
        try counts.add(replies, isFirst: true)
        return (page(channels.indices.map { (channels[$0], entries[$0]) }), counts)
    }

    /// The tracked ones among these channels, as `lookup`, and the ones that were tracked before. One round trip.
    public func known(
        _ app: AppKey, _ tokens: TokenPlace, _ channels: [[UInt8]]
    ) async throws(StoreError) -> (page: TokenPage, former: Set<[UInt8]>) {
        let (entries, removals, _) = try await lookup(keys.place(app, tokens), channels)
        let former = channels.indices.filter { removals[$0] != nil }.map { channels[$0] }
        return (page(channels.indices.map { (channels[$0], entries[$0]) }), Set(former))
    }

    /// The tracked channels among the arrivals of a catch-up, without channels that registered again since the arrivals
    /// were read: their page would settle the earlier arrival, and the later one would bring the push to the same token
    /// again.
    public func lookup(
        _ app: AppKey, _ name: ActivityName, _ arrivals: [CatchUpArrival]
    ) async throws(StoreError) -> (page: TokenPage, counts: BlockCounts, arrivals: [CatchUpArrival]) {
        if arrivals.isEmpty { return (TokenPage(), BlockCounts(), []) }
        let place = keys.place(app, .activity(name))
        let channels = arrivals.map(\.channel)
        let orders = RedisCommand("ZMSCORE", keys.catchUp(place.tag), channels.map { .bytes($0) })
        let (entries, _, replies) = try await lookup(
            place, channels, and: BlockCounts.commands(keys, place.tag) + [orders])
        var counts = BlockCounts()
        try counts.add(replies.dropLast(), isFirst: true)
        guard let now = replies.last, now.count == arrivals.count else {
            throw .wrongCount("ZMSCORE", replies.last?.count ?? 0, expected: arrivals.count)
        }
        var present: [Int] = []
        for (index, arrival) in arrivals.enumerated() where !now[index].isNil {
            if try now[index].optionalTime() == arrival.order { present.append(index) }
        }
        return (page(present.map { (channels[$0], entries[$0]) }), counts, present.map { arrivals[$0] })
    }

    private func page(_ found: [(channel: [UInt8], entry: Entry?)]) -> TokenPage {
        var page = TokenPage(reservingEntries: found.count, bytes: found.count * 100)
        for case (let channel, let entry?) in found {
            page.append(
                channel: channel, token: entry.token, registeredAt: entry.registeredAt,
                isInfrequent: entry.isInfrequent, minutes: entry.minutes, platform: entry.platform)
        }
        return page
    }
}

/// A channel that registered a token during a sweep. If it registers again, it moves to the end.
public struct CatchUpArrival: Sendable, Hashable {
    public var channel: [UInt8]
    /// Rises in the order of arrival.
    public var order: Int64

    package init(channel: [UInt8], order: Int64) {
        self.channel = channel
        self.order = order
    }
}
