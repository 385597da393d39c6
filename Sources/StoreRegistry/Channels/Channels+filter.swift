public import LiveActivity
package import Redis
public import StoreGround

/// One bit per entry of a page.
struct PageBits: Sendable, Hashable {
    private(set) var words: [UInt64]
    let count: Int

    init(count: Int, all: Bool = false) {
        self.count = count
        words = Array(repeating: all ? .max : 0, count: (count + 63) / 64)
    }

    subscript(index: Int) -> Bool { words[index >> 6] >> UInt64(index & 63) & 1 == 1 }
    mutating func insert(_ index: Int) { words[index >> 6] |= 1 << UInt64(index & 63) }
    mutating func formUnion(_ other: PageBits) { for index in words.indices { words[index] |= other.words[index] } }
    mutating func formIntersection(_ other: PageBits) {
        for index in words.indices { words[index] &= other.words[index] }
    }
    mutating func invert() { for index in words.indices { words[index] = ~words[index] } }
}

/// Which entries of a page are in an audience's sets and channels, and from that, which are in the audience.
struct PageMembership {
    let count: Int
    var sets: [AudienceSet: PageBits] = [:]
    var channels: [ChannelID: PageBits] = [:]
    var platforms: [Platform: PageBits] = [:]

    func matching(_ audience: Audience) -> PageBits {
        switch audience {
        case .all: return PageBits(count: count, all: true)
        case .tag(let tag, let group): return sets[.tag(tag, group: group)] ?? PageBits(count: count)
        case .namedUser(let user): return sets[.namedUser(user)] ?? PageBits(count: count)
        case .channel(let id): return channels[id] ?? PageBits(count: count)
        case .platform(let platform): return platforms[platform] ?? PageBits(count: count)
        case .or(let parts): return parts.reduce(into: PageBits(count: count)) { $0.formUnion(matching($1)) }
        case .and(let parts):
            return parts.reduce(into: PageBits(count: count, all: true)) { $0.formIntersection(matching($1)) }
        case .not(let part):
            var bits = matching(part)
            bits.invert()
            return bits
        }
    }

    /// Finds the channels and platforms that the audience names, in one pass over the page.
    mutating func look(for audience: Audience, in page: TokenPage) {
        var named: [ArraySlice<UInt8>: ChannelID] = [:]
        var namesPlatform = false
        func visit(_ audience: Audience) {
            switch audience {
            case .channel(let id): named[id.stored[...]] = id
            case .or(let parts), .and(let parts): parts.forEach(visit)
            case .not(let part): visit(part)
            case .platform: namesPlatform = true
            case .all, .tag, .namedUser: break
            }
        }
        visit(audience)
        for (index, entry) in page.entries.enumerated() where namesPlatform {
            platforms[entry.platform, default: PageBits(count: count)].insert(index)
        }
        guard !named.isEmpty else { return }
        for index in 0..<page.count {
            if let id = named[page.channel(index)] { channels[id, default: PageBits(count: count)].insert(index) }
        }
    }
}

extension TokenPage {
    /// Its channels, as arguments for any number of commands that name all of them.
    package var packedChannels: PackedArguments {
        var packed = PackedArguments(reservingBytes: 24 * count)
        forEachChannel { packed.append($0) }
        return packed
    }
}

extension Channels {
    /// Sets in one round trip. A page needs about 16 KB for each.
    private static let setsPerRoundTrip = 64

    /// The entries of the page that are in the audience. One round trip for each 64 of its tags and named users.
    public func filter(_ app: AppKey, _ page: TokenPage, _ audience: Audience) async throws(StoreError) -> TokenPage {
        if audience == .all || page.isEmpty { return page }
        var membership = PageMembership(count: page.count)
        membership.sets = try await members(app, page, of: audience.sets)
        membership.look(for: audience, in: page)
        let included = membership.matching(audience)
        return page.filtered { included[$0] }
    }

    /// Puts the entries of devices that are known to have iOS 18 or later on a route. One round trip.
    public func routingIOS18(
        _ app: AppKey, _ page: TokenPage, to route: TokenPage.Entry.Route
    ) async throws(StoreError) -> TokenPage {
        let included = try await members(app, page, of: [.iOS18])[.iOS18]
        var page = page
        for index in page.entries.indices where included?[index] == true { page[route: index].insert(route) }
        return page
    }

    private func members(
        _ app: AppKey, _ page: TokenPage, of sets: [AudienceSet]
    ) async throws(StoreError) -> [AudienceSet: PageBits] {
        if sets.isEmpty { return [:] }
        var found: [AudienceSet: PageBits] = [:]
        let channels = page.packedChannels
        for asked in sets.parts(of: Self.setsPerRoundTrip) {
            let replies = try await redis.run(asked.map { RedisCommand("SMISMEMBER", keys.members(app, $0), channels) })
            for (set, reply) in zip(asked, replies) {
                try StoreError.check(reply.count, of: "SMISMEMBER", is: page.count)
                var bits = PageBits(count: page.count)
                try reply.forEachInteger { index, number in if number == 1 { bits.insert(index) } }
                found[set] = bits
            }
        }
        return found
    }
}
