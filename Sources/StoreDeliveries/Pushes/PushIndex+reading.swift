package import LiveActivity
import Redis
package import StoreGround

extension PushIndex {
    /// A part of an hour.
    package struct Part {
        package var pushes: [(id: PushID, name: ActivityName)]
        /// The push from which on all are known, if the hour has more behind it.
        package var next: PushID?

        package var isWhole: Bool { next == nil }
    }

    /// The name of a push of the app.
    package func name(of id: PushID, _ app: AppKey) async throws(StoreError) -> ActivityName? {
        try await names(of: [id], app)[0]
    }

    /// The names of pushes, nil for each that is not one of the app's.
    package func names(of ids: [PushID], _ app: AppKey) async throws(StoreError) -> [ActivityName?] {
        try await names(ids.map { ($0, place(app, $0)) })
    }

    /// Which of the pushes are in the hours of their acceptance.
    package func listed(
        _ app: AppKey, _ pushes: [(id: PushID, acceptedAt: Int64)]
    ) async throws(StoreError) -> Set<PushID> {
        let names = try await names(pushes.map { ($0.id, place(app, $0.id, at: $0.acceptedAt)) })
        return Set(zip(pushes, names).filter { $0.1 != nil }.map(\.0.id))
    }

    private func names(_ pushes: [(id: PushID, place: IndexSlice)]) async throws(StoreError) -> [ActivityName?] {
        let replies = try await redis.run(
            pushes.flatMap { id, place in
                let bytes = id.uuid.bytes
                let end = RedisArgument.bytes(Array("(".utf8) + bytes + [Self.end])
                return [
                    RedisCommand(
                        "ZRANGEBYLEX", entries(place), .bytes(Array("[".utf8) + bytes), end, "LIMIT", "0", "1"),
                    RedisCommand("ZREVRANGEBYLEX", blocks(place), end, "-", "LIMIT", "0", "1"),
                ]
            })
        var names: [ActivityName?] = []
        for (position, push) in pushes.enumerated() {
            let entry = try replies[2 * position].byteStrings().first
            let block = try replies[2 * position + 1].byteStrings().first
            let bytes = push.id.uuid.bytes
            let member = entry ?? block.flatMap { Self.members(of: $0).first { $0.starts(with: bytes) } }
            let found = member.flatMap(Self.push)
            if member != nil, found == nil { throw .corrupt("push index") }
            names.append(found?.name)
        }
        return names
    }

    package static func push(_ member: [UInt8]) -> (id: PushID, name: ActivityName)? {
        guard let id = id(member), let text = String(validating: member.dropFirst(16), as: UTF8.self),
            let name = try? ActivityName(text)
        else { return nil }
        return (id, name)
    }

    /// The id with which a member begins.
    static func id(_ member: [UInt8]) -> PushID? { UUIDBytes(bytes: member.prefix(16)).map(PushID.init) }

    /// Ends each member of a block. No name has this byte.
    private static let end: UInt8 = 0xFF

    /// The members of a block, in their order. The id of its last one when it was made stands at its end.
    private static func members(of block: [UInt8]) -> [[UInt8]] {
        var members: [[UInt8]] = []
        var rest = block.dropLast(16)
        while rest.count > 16, let end = rest.dropFirst(16).firstIndex(of: end) {
            members.append(Array(rest[..<end]))
            rest = rest[(end + 1)...]
        }
        return members
    }

    /// How many pushes each set has since `oldest` (epoch ms), in the order of hours. A push that was accepted late is
    /// in two.
    func sizes(
        _ app: AppKey, since oldest: Int64, now: Int64
    ) async throws(StoreError) -> [(hour: Int64, slice: Int, size: Int)] {
        let hours = max(0, oldest) / Self.hour...max(oldest, now) / Self.hour
        let places = hours.flatMap { hour in slices.map { IndexSlice(app: app, hour: hour, slice: $0) } }
        let there = try await redis.worthReading(places.flatMap { [entries($0), packed($0)] })
        let counted = places.flatMap { place in
            [(place, key: entries(place), isPacked: false), (place, key: packed(place), isPacked: true)]
        }.filter { there.contains($0.key) }
        let replies = try await redis.run(counted.map { RedisCommand($0.isPacked ? "GET" : "ZCARD", $0.key) })
        var sizes: [(hour: Int64, slice: Int, size: Int)] = []
        for ((place, _, isPacked), reply) in zip(counted, replies) {
            let size = try isPacked ? reply.optionalNumber() ?? 0 : reply.integer()
            if let last = sizes.last, (last.hour, last.slice) == (place.hour, place.slice) {
                sizes[sizes.count - 1].size += size
            } else {
                sizes.append((place.hour, place.slice, size))
            }
        }
        return sizes
    }

    /// Members of one set, in their order.
    /// - Returns: at most `limit` members, and the member behind which the set has more.
    package func members(
        _ app: AppKey, hour: Int64, slice: Int, after member: [UInt8]?, limit: Int
    ) async throws(StoreError) -> (members: [[UInt8]], next: [UInt8]?) {
        let place = IndexSlice(app: app, hour: hour, slice: slice)
        let most = Self.blocks(for: limit)
        let start = RedisArgument.bytes(member.map { Array("(".utf8) + $0 } ?? Array("-".utf8))
        let (single, around, later) = try await redis.run([
            RedisCommand("ZRANGEBYLEX", entries(place), start, "+", "LIMIT", "0", .int(limit)),
            // The block in which the member lies, if it lies in one, and those behind it.
            RedisCommand(
                "ZREVRANGEBYLEX", blocks(place), .bytes(Array("[".utf8) + (member ?? [])), "-", "LIMIT", "0", "1"),
            RedisCommand("ZRANGEBYLEX", blocks(place), start, "+", "LIMIT", "0", .int(most)),
        ]).values(.byteStrings("entries"), .byteStrings("block around"), .byteStrings("later blocks"))
        let packed = (around + later).flatMap(Self.members)
        // Nothing is known behind the last entry and the last block that were asked for.
        var known = single.count == limit ? single.last : nil
        if later.count == most, let last = later.last {
            let end = last.suffix(16) + [Self.end]
            if known.map({ end.lexicographicallyPrecedes($0) }) ?? true { known = Array(end) }
        }
        let found = Self.merged(single + packed).filter {
            (member?.lexicographicallyPrecedes($0) ?? true) && !(known?.lexicographicallyPrecedes($0) ?? false)
        }
        return found.count > limit ? (Array(found.prefix(limit)), found[limit - 1]) : (found, known)
    }

    private var slices: Range<Int> { 0..<keys.partitions }

    /// The blocks that have so many entries, wherever in the first one these begin.
    private static func blocks(for limit: Int) -> Int { limit / blockSize + 2 }

    /// In their order, and each once: a member may be read as an entry, and then in the block to which it was moved.
    private static func merged(_ members: [[UInt8]]) -> [[UInt8]] {
        var merged: [[UInt8]] = []
        for member in members.sorted(by: { $0.lexicographicallyPrecedes($1) }) where member != merged.last {
            merged.append(member)
        }
        return merged
    }

    /// Entries of some hours, newest first.
    /// - Parameters:
    ///   - hours: from the newest on.
    ///   - id: only pushes before this one in the first of the hours.
    ///   - limit: entries of each hour. It may be some more.
    package func pushes(
        _ app: AppKey, hours: [Int64], before id: PushID?, limit: Int
    ) async throws(StoreError) -> [Part] {
        let most = Self.blocks(for: limit)
        let replies = try await redis.run(
            hours.enumerated().flatMap { position, hour in
                let upper: [UInt8] =
                    if position == 0, let id { Array("(".utf8) + id.uuid.bytes } else { Array("+".utf8) }
                return slices.flatMap { slice in
                    let place = IndexSlice(app: app, hour: hour, slice: slice)
                    return [(entries(place), limit), (blocks(place), most)].map { key, limit in
                        RedisCommand("ZREVRANGEBYLEX", key, .bytes(upper), "-", "LIMIT", "0", .int(limit))
                    }
                }
            })
        var found: [Part] = []
        let ofHour = 2 * slices.count
        for (position, start) in stride(from: 0, to: replies.count, by: ofHour).enumerated() {
            var members: [[UInt8]] = []
            // If a slice has more, nothing is known behind its last entry, or behind the first of its last block.
            var known: [UInt8] = []
            for (index, reply) in replies[start..<start + ofHour].enumerated() {
                let isOfBlocks = index % 2 == 1
                let part = try reply.byteStrings()
                members += isOfBlocks ? part.flatMap(Self.members) : part
                if part.count == (isOfBlocks ? most : limit), let last = part.last {
                    let first = isOfBlocks ? Array(last.prefix(16)) : last
                    if known.lexicographicallyPrecedes(first) { known = first }
                }
            }
            let upper = position == 0 ? id?.uuid.bytes : nil
            let pushes = Self.merged(members).reversed().filter { member in
                !member.lexicographicallyPrecedes(known) && upper.map(member.lexicographicallyPrecedes) ?? true
            }.compactMap(Self.push)
            found.append(Part(pushes: pushes, next: known.isEmpty ? nil : Self.id(known) ?? pushes.last?.id))
        }
        return found
    }
}
