public import LiveActivity
import Redis

extension Registry {
    /// A channel's registration under a name, as far as a push needs it.
    struct Entry: Sendable, Hashable {
        var token: [UInt8]
        /// Epoch ms.
        var registeredAt: Int64
        var isInfrequent: Bool
        /// Minutes from the activity's start to the registration; negative if it starts later.
        var minutes: Int32
        var startedAt: Int64 { registeredAt - Int64(minutes) * 60_000 }
    }

    /// Looks channels up in one round trip, and reads `more` at the same moment.
    /// - Returns: the entries in order; nil for a channel that is not tracked or whose registration's life is over.
    func lookup(
        _ place: PlaceKeys, _ channels: [[UInt8]], and more: [RedisCommand] = []
    ) async throws(StoreError) -> (entries: [Entry?], more: [Reply]) {
        let now = clock()
        var attempt = 0
        while attempt < Self.countAttempts {
            let count = memory.count(place.key)
            let key = count == .one ? nil : try await hashKey(for: count)
            let byBucket = Dictionary(grouping: channels.indices) { index in
                key.map { count.bucket(of: $0.hash(channels[index])) } ?? 0
            }
            let buckets = byBucket.map { (bucket: $0.key, indices: $0.value) }
            let commands =
                [RedisCommand("HGET", keys.root(place.tag), "n")] + more
                + buckets.map { bucket, indices in
                    RedisCommand("HMGET", keys.bucket(place.tag, bucket), indices.map { .bytes(channels[$0]) })
                }
            let replies = try await redis.atOnce(commands)
            let found = try bucketCount(replies[0])
            guard found == count else {
                memory.remember(place.key, found)
                if found.buckets <= count.buckets { attempt += 1 }
                continue
            }
            var entries = [Entry?](repeating: nil, count: channels.count)
            for ((_, indices), reply) in zip(buckets, replies.dropFirst(1 + more.count)) {
                try read(reply, indices, now: now, place.span, into: &entries)
            }
            return (entries, Array(replies[1..<1 + more.count]))
        }
        throw .corrupt("bucket count, which changes all the time")
    }

    private func read(
        _ reply: Reply, _ indices: [Int], now: Int64, _ span: RegistryRecord.Span, into entries: inout [Entry?]
    ) throws(StoreError) {
        guard reply.count == indices.count else { throw .unexpectedReply("HMGET of another length") }
        for (position, index) in indices.enumerated() where !reply[position].isNil {
            let value = try reply[position].bytes()
            let reading = RegistryRecord.read(value, now: now, span)
            guard case .live(let offset, let registeredAt, let isInfrequent, let minutes) = reading else { continue }
            entries[index] = Entry(
                token: Array(value.dropFirst(offset)), registeredAt: registeredAt, isInfrequent: isInfrequent,
                minutes: minutes)
        }
    }

    /// The tracked ones among these channels, with their present tokens. One round trip.
    public func lookup(
        _ app: AppKey, _ tokens: TokenPlace, _ channels: [[UInt8]]
    ) async throws(StoreError) -> (page: TokenPage, hints: BlockHints) {
        let place = placeKeys(app, tokens)
        let (entries, replies) = try await lookup(place, channels, and: BlockHints.commands(keys, place.tag))
        var hints = BlockHints()
        try hints.add(replies[...], isFirst: true)
        var page = TokenPage(reservingEntries: channels.count, bytes: channels.count * 100)
        for case (let channel, let entry?) in zip(channels, entries) {
            page.append(
                channel: channel, token: entry.token, registeredAt: entry.registeredAt,
                isInfrequent: entry.isInfrequent, minutes: entry.minutes)
        }
        return (page, hints)
    }
}
