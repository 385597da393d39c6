public import LiveActivity
import Redis
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

extension Registry {
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
    ) async throws(StoreError) -> (page: TokenPage, next: ScanPosition, hints: BlockHints) {
        let place = placeKeys(app, tokens)
        let now = clock()
        var hints = BlockHints()
        let first = position.rawValue
        let limit = max(limit, 1)
        let end = min(end, .end).rawValue
        var position = position.rawValue
        var page = TokenPage(reservingEntries: min(limit, 4_096) + 256, bytes: (min(limit, 4_096) + 256) * 100)
        var density = 90.0
        // A second round trip for the last few tokens costs more than it brings.
        while position < end, page.count <= limit - limit / 4 - 1 {
            let before = page.count
            let step = try await read(
                place, from: position, end: end, tokens: limit - page.count, density: density, now: now, into: &page,
                hints: &hints, isFirst: position == first)
            density = Double(page.count - before) / Double(max(step.buckets.count, 1))
            position = min(step.positions.upperBound, end)
        }
        return (page, ScanPosition(position), hints)
    }

    private func read(
        _ place: PlaceKeys, from position: UInt64, end: UInt64, tokens: Int, density: Double, now: Int64,
        into page: inout TokenPage, hints: inout BlockHints, isFirst: Bool
    ) async throws(StoreError) -> ScanStep {
        let marks = BlockHints.commands(keys, place.tag)
        let root = keys.root(place.tag)
        return try await withCount(place) { known throws(StoreError) -> ScanStep? in
            let step = ScanStep(known, from: position, end: end, tokens: tokens, density: density)
            let buckets = step.buckets.map { RedisCommand("HGETALL", keys.bucket(place.tag, $0)) }
            let replies = try await redis.atOnce([RedisCommand("HGET", root, "n")] + marks + buckets)
            let count = try rememberCount(replies[0], of: place, known: known)
            guard step.isWhole(count) else { return nil }
            // Inside a class: the name once had more buckets and shrank by expiry, or the range is narrow.
            let isPartial = position > step.positions.lowerBound || end < step.positions.upperBound
            let filter = isPartial ? (key: try await hashKey(for: count), range: position..<end) : nil
            try hints.add(replies[1...marks.count], isFirst: isFirst)
            for (bucket, reply) in zip(step.buckets, replies.dropFirst(1 + marks.count)) where bucket < count.buckets {
                try collect(reply, filter: filter, now: now, span: place.span, into: &page)
            }
            return step
        }
    }

    /// Adds the live tokens of a whole bucket, of these positions, to a page. Malformed records are counted.
    package func collect(
        _ reply: Reply, filter: (key: RegistryHashKey, range: Range<UInt64>)?, now: Int64,
        span: RegistryRecord.Span, into page: inout TokenPage
    ) throws(StoreError) {
        var malformed = 0
        try reply.forEachPair { channel, value in
            // The bucket count of the root.
            if channel.count == 1, channel[0] == UInt8(ascii: "n") { return }
            guard channel.count == 16 || (channel.first == 1 && channel.count <= ChannelID.maximumBytes + 2) else {
                malformed += 1
                return
            }
            switch RegistryRecord.read(value, now: now, span) {
            case .absent: return
            case .malformed: malformed += 1
            case .live(let tokenOffset, let registeredAt, let isInfrequent, let minutes):
                if let filter, !filter.range.contains(UInt64(filter.key.hash(channel).bitReversed)) { return }
                page.append(
                    channel: channel, token: UnsafeRawBufferPointer(rebasing: value[tokenOffset...]),
                    registeredAt: registeredAt, isInfrequent: isInfrequent, minutes: minutes)
            }
        }
        if malformed > 0 { memory.addMalformed(malformed) }
    }
}
