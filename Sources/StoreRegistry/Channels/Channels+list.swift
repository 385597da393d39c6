public import LiveActivity
package import Redis
public import StoreGround

/// Where a page of the list of channels ended: a part of the index in the list's order, and the last channel of it that
/// was shown.
public struct ChannelPosition: Sendable, Hashable, CustomStringConvertible {
    package var part: Int
    /// Stored form; empty: the part begins.
    package var channel: [UInt8]

    public var description: String { "\(part).\(Hex.encode(channel))" }
    init(part: Int, channel: [UInt8]) { (self.part, self.channel) = (part, channel) }

    public init?(_ text: String) {
        guard let parts = text.cut(at: UInt8(ascii: ".")), let part = Int(parts.head),
            (0..<FollowingIndex.size).contains(part),
            let channel = parts.tail.isEmpty ? [] : Hex.decode(parts.tail)
        else { return nil }
        self.init(part: part, channel: channel)
    }
}

/// Where a page of the channels with a tag ended: a cursor of Redis, and how many of its answer were shown.
public struct MemberPosition: Sendable, Hashable, CustomStringConvertible {
    package var cursor: UInt64
    package var offset: Int

    public var description: String { "\(cursor).\(offset)" }
    init(cursor: UInt64, offset: Int) { (self.cursor, self.offset) = (cursor, offset) }

    public init?(_ text: String) {
        guard let parts = text.cut(at: UInt8(ascii: ".")), let cursor = UInt64(parts.head),
            let offset = Int(parts.tail), (0...Self.mostAtOnce).contains(offset)
        else { return nil }
        self.init(cursor: cursor, offset: offset)
    }

    private static let mostAtOnce = 1_000_000
}

/// A channel as a list shows it.
public struct ListedChannel: Sendable {
    public var channel: ChannelID
    /// Nil if it only follows names.
    public var record: ChannelRecord?
    /// At most as many names and attributes types have a token of it.
    public var places: Int
    /// The platform on which it had an address within a year. Nil: it had none.
    public var addressPlatform: Platform?
}

extension Channels {
    /// Parts of the index in one round trip: at first, and at most.
    private static let (firstParts, mostParts) = (16, 1_024)
    /// From so many parts on, ask first which hold anything, of so many parts in one command.
    private static let (probedParts, partsOfProbe) = (256, 32)

    /// About so many channels are looked at in one call of a search.
    private static let mostSearched = 20_000

    /// The app's channels, in the order of the index's parts with their numbers' bits reversed, as buckets of names are
    /// read. The index may hold some of which nothing is left.
    /// - Parameter prefix: the beginning of their ids; nil for all channels. A search reads a part of the index, so its
    ///   page may be short.
    public func list(
        _ app: AppKey, after position: ChannelPosition?, prefix: String? = nil, limit: Int
    ) async throws(StoreError) -> (channels: [ListedChannel], next: ChannelPosition?) {
        var found: [Indexed] = []
        var next: ChannelPosition?
        var (part, seen) = (position?.part ?? 0, position?.channel ?? [])
        var width = Self.firstParts
        var searched = 0
        scan: while part < FollowingIndex.size {
            let block = part..<min(part + width, FollowingIndex.size)
            for (number, channels) in zip(block, try await channels(app, in: block)) {
                searched += channels.count
                for channel in channels where seen.lexicographicallyPrecedes(channel.channel) {
                    guard Self.begins(channel.channel, with: prefix) else { continue }
                    if found.count == limit {
                        next = ChannelPosition(part: number, channel: seen)
                        break scan
                    }
                    found.append(channel)
                    seen = channel.channel
                }
                seen = []
            }
            part = block.upperBound
            width = min(2 * width, Self.mostParts)
            if prefix != nil, searched >= Self.mostSearched, part < FollowingIndex.size {
                next = ChannelPosition(part: part, channel: [])
                break
            }
        }
        return (try await listed(app, found), next)
    }

    private static func begins(_ channel: [UInt8], with prefix: String?) -> Bool {
        guard let prefix else { return true }
        return ChannelID(stored: channel).map { $0.description.utf8.starts(with: prefix.utf8) } ?? false
    }

    /// A channel in the index.
    private typealias Indexed = (channel: [UInt8], places: Int, platform: Platform?)

    private func listed(_ app: AppKey, _ found: [Indexed]) async throws(StoreError) -> [ListedChannel] {
        let channels = found.compactMap { entry in ChannelID(stored: entry.channel).map { (id: $0, entry: entry) } }
        if channels.isEmpty { return [] }
        let replies = try await redis.run(channels.map { RedisCommand("HGETALL", keys.channel(app, $0.id)) })
        var listed: [ListedChannel] = []
        for ((id, entry), reply) in zip(channels, replies) {
            let record = reply.count == 0 ? nil : try ChannelRecord(reply)
            if record == nil, entry.places == 0 { continue }
            listed.append(
                ListedChannel(
                    channel: id, record: record, places: entry.places, addressPlatform: entry.platform))
        }
        return listed
    }

    /// The app's channels with a tag, in no certain order. A channel that gets or loses the tag meanwhile may be
    /// missing or come twice.
    /// - Parameter prefix: the beginning of their ids; nil for all channels
    public func list(
        _ app: AppKey, with set: AudienceSet, after position: MemberPosition?, prefix: String? = nil, limit: Int
    ) async throws(StoreError) -> (channels: [ListedChannel], next: MemberPosition?) {
        var place = position ?? MemberPosition(cursor: 0, offset: 0)
        var found: [ChannelID] = []
        var next: MemberPosition?
        for _ in 0..<Self.stepsOfMembers {
            let (position, all) = try await redis.run(
                "SSCAN", keys.members(app, set), .string("\(place.cursor)"), "COUNT", .int(limit)
            ).values(.string("cursor"), .byteStrings("members"))
            // A small set comes whole, whatever is asked for.
            let members = all.dropFirst(place.offset)
            let fitting = members.enumerated().filter { Self.begins($0.element, with: prefix) }
            let taken = fitting.prefix(limit - found.count)
            found += taken.compactMap { ChannelID(stored: $0.element) }
            let cursor = UInt64(position) ?? 0
            if let last = taken.last, taken.count < fitting.count {
                next = MemberPosition(cursor: place.cursor, offset: place.offset + last.offset + 1)
            } else {
                next = cursor == 0 ? nil : MemberPosition(cursor: cursor, offset: 0)
            }
            guard let further = next, found.count < limit else { break }
            place = further
        }
        // A member may be left over from a record that expired.
        let gone = Set(try await without(app, Keyspace.field(set), found))
        let there = found.filter { !gone.contains($0) }
        var listed = try await listed(app, there.map { ($0.stored, 0, nil) })
        for index in listed.indices {
            let places = try await followings.places(app, listed[index].channel.stored)
            listed[index].places = places.count
            listed[index].addressPlatform = places.lazy.compactMap(\.addressPlatform).first
        }
        return (listed, next)
    }

    /// Round trips of one call that looks for channels with a tag.
    private static var stepsOfMembers: Int { 20 }

    /// The channels of each of these parts of the index, in byte order, with the number of their places.
    private func channels(_ app: AppKey, in block: Range<Int>) async throws(StoreError) -> [[Indexed]] {
        let keys = block.map { self.keys.followings(app, Int(UInt32($0 << 16).bitReversed)) }
        var places = keys.map { _ in Places() }
        var asked = Array(keys.indices)
        // A small app has few channels, so most parts are empty. A cluster cannot ask for many slots in one command.
        if keys.count >= Self.probedParts, !redis.isCluster {
            let groups = asked.parts(of: Self.partsOfProbe)
            let replies = try await redis.run(
                groups.map { group in
                    RedisCommand("EXISTS", group.map { .key(keys[$0]) })
                })
            asked = []
            for (group, reply) in zip(groups, replies) where try reply.integer() > 0 { asked += group }
        }
        if !asked.isEmpty {
            let replies = try await redis.run(asked.map { RedisCommand("HKEYS", keys[$0]) })
            for (index, reply) in zip(asked, replies) { try Self.add(reply, to: &places[index]) }
        }
        try await followings.followers(app, in: block) { part, channel, name in
            places[part - block.lowerBound][channel, default: []].insert(Array(name.rawValue.utf8))
        }
        return places.map(Self.indexed)
    }

    /// The places of channels, in their stored forms.
    private typealias Places = [[UInt8]: Set<[UInt8]>]

    private static func add(_ fields: Reply, to places: inout Places) throws(StoreError) {
        for field in try fields.byteStrings() {
            guard let channel = FollowingIndex.channel(field[...]) else { continue }
            places[channel, default: []].insert(Array(field.dropFirst(1 + channel.count)))
        }
    }

    private static func indexed(_ places: Places) -> [Indexed] {
        places.map { channel, places in
            let platform = addressPlaces.first { places.contains($0.stored) }?.platform
            return (channel: channel, places: places.count { !$0.isEmpty }, platform: platform)
        }
        .sorted { $0.channel.lexicographicallyPrecedes($1.channel) }
    }

    /// The places of addresses, as the index has them.
    private static let addressPlaces = Platform.all.filter(\.hasOneAddress).map { platform in
        (platform: platform, stored: Array(TokenPlace.addresses(on: platform).stored.utf8))
    }

    /// The command that puts named users on the app's list.
    package func list(_ app: AppKey, users: [String]) -> RedisCommand {
        RedisCommand("ZADD", keys.namedUsers(app), users.flatMap { ["1", .string($0)] })
    }

    /// The app's named users that have channels, in byte order, from behind `after` on. Users without channels leave
    /// the list.
    public func namedUsers(_ app: AppKey, after: String?, limit: Int) async throws(StoreError) -> [String] {
        let index = keys.namedUsers(app)
        var found: [String] = []
        var lower = after.map { RedisArgument.bytes(Array("(\($0)".utf8)) } ?? "-"
        while found.count < limit {
            let reply = try await redis.run("ZRANGEBYLEX", index, lower, "+", "LIMIT", "0", .int(limit))
            let users = try reply.strings()
            guard let last = users.last else { break }
            let gone = try await withoutChannels(app, users)
            if !gone.isEmpty {
                try await redis.run("ZREM", index, gone.map { .string($0) })
                // A user that got a channel meanwhile is seen here, or its listing comes later.
                let still = Set(try await withoutChannels(app, gone).map { ExactText($0) })
                let back = gone.filter { !still.contains(ExactText($0)) }
                if !back.isEmpty { try await redis.run([list(app, users: back)]) }
            }
            let dropped = Set(gone.map { ExactText($0) })
            found += users.filter { !dropped.contains(ExactText($0)) }
            if users.count < limit { break }
            lower = .bytes(Array("(\(last)".utf8))
        }
        return Array(found.prefix(limit))
    }

    private func withoutChannels(_ app: AppKey, _ users: [String]) async throws(StoreError) -> [String] {
        let replies = try await redis.run(
            users.map { RedisCommand("EXISTS", keys.members(app, .namedUser($0))) })
        var gone: [String] = []
        for (user, reply) in zip(users, replies) where try reply.integer() == 0 { gone.append(user) }
        return gone
    }
}
