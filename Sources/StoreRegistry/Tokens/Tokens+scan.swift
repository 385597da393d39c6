public import LiveActivity
package import Redis
public import StoreGround

/// The classes that one read covers: neighbours in the scan's order, at the level of a maybe outdated bucket count.
package struct ScanStep: Sendable, Hashable {
    package let positions: Range<UInt64>
    package let buckets: [Int]
    private let power: Int
    private let bound: Int

    /// Begins with the class of position `from`. `density`: tokens that a bucket is expected to hold.
    package init(_ count: BucketCount, from: UInt64, end: UInt64, tokens: Int, density: Double) {
        let shift = UInt64(32 - count.level)
        power = 1 << count.level
        // Ask also for buckets that other writers may add meanwhile, because a missing key costs almost nothing.
        bound = min(2 * power, count.buckets + 16)
        let perClass = Double(count.buckets) / Double(power) * max(density, 1)
        let wanted = UInt64(max(1, min(64, (Double(tokens) / perClass).rounded(.up))))
        let first = from >> shift
        let last = min(first + wanted, (end + (1 << shift) - 1) >> shift)
        positions = first << shift..<last << shift
        var buckets: [Int] = []
        for number in first..<last {
            let residue = count.level == 0 ? 0 : Int(UInt32(truncatingIfNeeded: number << shift).bitReversed)
            buckets.append(residue)
            if residue + power < bound { buckets.append(residue + power) }
        }
        self.buckets = buckets
    }

    /// Whether the read buckets are all of these classes, if the name had `count` buckets at that moment.
    package func isWhole(_ count: BucketCount) -> Bool { count.buckets >= power && count.buckets <= bound }
}

/// Which channels of a bucket are of a range of positions.
package struct PositionFilter {
    let key: RegistryHashKey
    let range: Range<UInt64>

    package func includes(_ channel: UnsafeRawBufferPointer) -> Bool {
        range.contains(UInt64(key.hash(channel).bitReversed))
    }
}

extension Tokens {
    /// Reads about `limit` tokens from `position` on, up to `end`. Whole buckets are read, so a page may hold more;
    /// three quarters are enough. A token that is tracked during the whole scan appears in exactly one page. A step
    /// reads count and buckets in one transaction. Ended registrations are left out, malformed records are counted.
    public func page(
        _ app: AppKey, _ tokens: TokenPlace, from position: ScanPosition, to end: ScanPosition, limit: Int
    ) async throws(StoreError) -> (page: TokenPage, next: ScanPosition) {
        let (page, next, _) = try await markedPage(app, tokens, from: position, to: end, limit: limit)
        return (page, next)
    }

    /// Like `page`, but also says in the same round trip which send blocks some channels of the name have.
    public func markedPage(
        _ app: AppKey, _ tokens: TokenPlace, from position: ScanPosition, to end: ScanPosition, limit: Int
    ) async throws(StoreError) -> (page: TokenPage, next: ScanPosition, counts: BlockCounts) {
        let place = keys.place(app, tokens)
        let marks = BlockCounts.commands(keys, place.tag)
        let now = clock()
        var counts = BlockCounts()
        let first = position.rawValue
        let limit = max(limit, 1)
        let end = min(end, .end).rawValue
        var position = position.rawValue
        var page = TokenPage(reservingEntries: min(limit, 4_096) + 256, bytes: (min(limit, 4_096) + 256) * 100)
        var density = 90.0
        // A second round trip for the last few tokens costs more than it brings.
        while position < end, page.count <= limit - limit / 4 - 1 {
            let before = page.count
            let (step, replies) = try await read(
                place, position..<end, tokens: limit - before, density: density, and: marks
            ) { bucket, filter throws(StoreError) in
                try collect(bucket, filter: filter, now: now, lifetime: place.lifetime, into: &page)
            }
            try counts.add(replies, isFirst: position == first)
            density = Double(page.count - before) / Double(max(step.buckets.count, 1))
            position = min(step.positions.upperBound, end)
        }
        return (page, ScanPosition(position), counts)
    }

    /// Reads about as many `tokens` from the begin of a range of positions on, and `more` at the same moment.
    /// - Parameters:
    ///   - density: tokens that a bucket is expected to hold
    ///   - take: gets the reply for each bucket. With a filter, only its channels are of the range.
    package func read(
        _ place: PlaceKeys, _ range: Range<UInt64>, tokens: Int, density: Double = 90, and more: [RedisCommand] = [],
        _ take: (_ bucket: Reply, PositionFilter?) throws(StoreError) -> Void
    ) async throws(StoreError) -> (step: ScanStep, more: [Reply]) {
        let root = RedisCommand("HGET", keys.root(place.tag), "n")
        return try await buckets.withCount(place) { known throws(StoreError) -> (ScanStep, [Reply])? in
            let step = ScanStep(
                known, from: range.lowerBound, end: range.upperBound, tokens: tokens, density: density)
            let buckets = step.buckets.map { RedisCommand("HGETALL", keys.bucket(place.tag, $0)) }
            var replies = try await redis.atOnce([root] + more + buckets)[...]
            let count = try self.buckets.rememberCount(replies.removeFirst(), of: place, known: known)
            guard step.isWhole(count) else { return nil }
            // Inside a class: the name once had more buckets and shrank by expiry, or the range is narrow.
            let isPartial = range.lowerBound > step.positions.lowerBound || range.upperBound < step.positions.upperBound
            let filter =
                isPartial ? PositionFilter(key: try await self.buckets.hashKey(for: count), range: range) : nil
            for (bucket, reply) in zip(step.buckets, replies.dropFirst(more.count)) where bucket < count.buckets {
                try take(reply, filter)
            }
            return (step, Array(replies.prefix(more.count)))
        }
    }

    /// Adds the live tokens of a whole bucket, of these positions, to a page. Malformed records are counted.
    package func collect(
        _ reply: Reply, filter: PositionFilter?, now: Int64, lifetime: RegistryRecord.Lifetime,
        into page: inout TokenPage
    ) throws(StoreError) {
        var malformed = 0
        try reply.forEachPair { channel, value in
            // The bucket count of the root.
            if channel.count == 1, channel[0] == UInt8(ascii: "n") { return }
            guard channel.count == 16 || (channel.first == 1 && channel.count <= ChannelID.maximumBytes + 2) else {
                malformed += 1
                return
            }
            switch RegistryRecord.read(value, now: now, lifetime) {
            case .absent: return
            case .malformed: malformed += 1
            case .live(let tokenOffset, let registeredAt, let isInfrequent, let minutes, let platform):
                if let filter, !filter.includes(channel) { return }
                page.append(
                    channel: channel, token: UnsafeRawBufferPointer(rebasing: value[tokenOffset...]),
                    registeredAt: registeredAt, isInfrequent: isInfrequent, minutes: minutes, platform: platform)
            }
        }
        if malformed > 0 { buckets.memory.addMalformed(malformed) }
    }

    /// How many buckets the tokens fill: 0 without tokens, 1 up to about 128 tokens, then one for about 90 tokens.
    /// Reads `more` at the same time.
    package func bucketCount(
        _ place: PlaceKeys, and more: [RedisCommand] = []
    ) async throws(StoreError) -> (buckets: Int, more: [Reply]) {
        let root = keys.root(place.tag)
        var replies = try await redis.replies([RedisCommand("HGET", root, "n"), RedisCommand("EXISTS", root)] + more)
        let (stored, exists) = (replies.removeFirst(), replies.removeFirst())
        let count = try buckets.rememberCount(stored, of: place, known: buckets.memory.count(place.key))
        return (try exists.isOne() ? count.buckets : 0, replies)
    }

    /// Counts the tokens by reading them; `stale`: last reported before `time` (epoch ms).
    package func count(
        _ app: AppKey, _ tokens: TokenPlace, reportedBefore time: Int64 = 0
    ) async throws(StoreError) -> (tokens: Int, stale: Int) {
        var (count, stale) = (0, 0)
        var position = ScanPosition.start
        while position < .end {
            let (page, next) = try await page(app, tokens, from: position, to: .end, limit: 2_000)
            count += page.count
            stale += page.entries.count { $0.registeredAt < time }
            position = next
        }
        return (count, stale)
    }

    /// Counts the start tokens of an attributes type by reading them; `stale`: last reported before `time` (epoch ms).
    public func startTokens(
        _ app: AppKey, _ attributesType: String, reportedBefore time: Int64
    ) async throws(StoreError) -> (tokens: Int, stale: Int, buckets: Int) {
        let place = TokenPlace.startTokens(of: attributesType)
        let buckets = try await bucketCount(keys.place(app, place)).buckets
        let (tokens, stale) = buckets == 0 ? (0, 0) : try await count(app, place, reportedBefore: time)
        return (tokens, stale, tokens == 0 ? 0 : buckets)
    }
}
