public import LiveActivity
import Redis
public import StoreGround

/// Which names of an app are wanted.
public struct NameFilter: Sendable, Hashable {
    public var prefix = ""
    /// A part of the name, compared as bytes.
    public var part = ""
    public var ended: Bool?
    public var followed: Bool?

    public init() {}

    var needsDetails: Bool { ended != nil || followed != nil }
    package func includes(_ name: NameSummary) -> Bool {
        (ended == nil || ended == name.ended) && (followed == nil || followed == (name.followers > 0))
    }
}

/// A name as a list shows it.
public struct NameSummary: Sendable, Hashable {
    public var name: ActivityName
    /// About how many channels follow, with channels that left lately.
    public var followers: Int
    public var ended: Bool
    public var lastPush: PushID?
}

extension Names {
    /// Buckets that are counted to estimate a large name.
    private static let sampled = 8
    /// Names that one call reads: by their text alone, or with their details.
    private static let (mostRead, mostDetailed) = (2_000, 500)
    private static let readAtOnce = 1_000

    /// Names that match, in byte order, from behind `after` on.
    /// - Returns: at most `limit` names, and where to go on; nil: there is nothing more. A page may be short.
    public func list(
        _ app: AppKey, _ filter: NameFilter, after: String?, limit: Int
    ) async throws(StoreError) -> (names: [NameSummary], next: String?) {
        var found: [NameSummary] = []
        var cursor = after.map { Array($0.utf8) }
        var read = 0
        let most = filter.needsDetails ? Self.mostDetailed : Self.mostRead
        let reads = filter.part.isEmpty ? min(limit, Self.readAtOnce) : Self.readAtOnce
        while read < most {
            let members = try await listed(app, prefix: filter.prefix, after: cursor, limit: reads)
            let matching = members.filter { filter.part.isEmpty || $0.firstRange(of: filter.part.utf8) != nil }
            for part in matching.parts(of: limit) {
                for name in try await summaries(app, present(app, Array(part))) where filter.includes(name) {
                    found.append(name)
                    if found.count == limit { return (found, name.name.rawValue) }
                }
            }
            guard members.count == reads, let last = members.last else { return (found, nil) }
            cursor = last
            read += members.count
        }
        return (found, cursor.map { String(decoding: $0, as: UTF8.self) })
    }

    /// Two round trips.
    private func summaries(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) -> [NameSummary] {
        if names.isEmpty { return [] }
        let tags = names.map { keys.tag(app, $0) }
        let heads = try await redis.run(
            tags.flatMap { tag in
                [
                    RedisCommand("HGET", keys.root(tag), "n"), RedisCommand("HLEN", keys.root(tag)),
                    RedisCommand("HMGET", keys.name(tag), "last", "ended"),
                ]
            })
        var found: [NameSummary] = []
        var samples: [(position: Int, count: Int, commands: [RedisCommand])] = []
        var values = ReplyValues(heads)
        for (position, name) in names.enumerated() {
            let count = try BucketCount(values.next(.any("buckets"))).buckets
            let followers = try values.next(.integer("followers"))
            let (last, ended) = try values.next(.any("name")).values(.push("last"), .any("ended"))
            found.append(NameSummary(name: name, followers: followers, ended: !ended.isNil, lastPush: last))
            if count > 1 {
                let step = max(1, count / Self.sampled)
                let buckets = stride(from: step / 2, to: count, by: step).prefix(Self.sampled)
                samples.append((position, count, buckets.map { RedisCommand("HLEN", keys.bucket(tags[position], $0)) }))
            }
        }
        var replies = try await redis.run(samples.flatMap(\.commands))[...]
        for (position, count, commands) in samples {
            var sum = 0
            for reply in replies.prefix(commands.count) { sum += try reply.integer() }
            replies = replies.dropFirst(commands.count)
            found[position].followers = sum * count / commands.count
        }
        return found
    }
}
