public import LiveActivity
import Redis

/// Reads the entries of an app in Redis, for a backup. It only reads, page by page, while the deployment works.
///
/// A backup is not one moment. An entry that exists from the beginning to the end is in it. An entry that changes
/// meanwhile is in it as it was before or after. A page of tokens, a channel and a schedule are each read at one
/// moment. Pushes, their ledgers and retries, events and alarms are left out (docs/features/backup.md).
public struct Backup: Sendable {
    /// Names that are read in one round trip, and places whose tokens are read at the same time.
    private static let (names, places) = (500, 8)
    /// Tokens of one entry, and buckets of the index of channels in one round trip.
    private static let (tokens, indexBuckets) = (2_000, 512)
    /// Fields of a name that a backup has.
    static let metaFields = ["type", "ts", "ended"]

    let store: Store

    /// Gives all entries of the app to `sink`, in the order in which they are to be restored.
    public func read(_ app: AppKey, _ sink: ([BackupEntry]) async throws -> Void) async throws {
        let schemas = try await store.schemas.all(app)
        try await sink(
            schemas.documents.sorted { $0.key < $1.key }.map { .schema(type: "\($0.key)", document: $0.value) })
        for kind in AppRecord.allCases {
            try await sink(try await kind.all(store, app).map { .record(kind, name: $0.name, $0.record) })
        }
        var cursor: [UInt8]?
        repeat {
            let members = try await store.names.listed(app, prefix: "", after: cursor, limit: Self.names)
            cursor = members.count == Self.names ? members.last : nil
            let names = members.compactMap { String(validating: $0, as: UTF8.self).flatMap { try? ActivityName($0) } }
            try await read(app, names, sink)
        } while cursor != nil
        let types = try await readChannels(app, sink)
        for type in types.sorted() {
            if let place = try? TokenPlace(stored: TokenPlace.startTokens(of: "\(type)").stored) {
                try await sink([.place(place, buckets: try await buckets(app, place), meta: [:])])
                try await readTokens(app, place, from: .start, sink)
            }
        }
        try await readSchedules(app, sink)
    }

    private func buckets(_ app: AppKey, _ place: TokenPlace) async throws(StoreError) -> Int {
        let tag = store.keys.tag(app, place)
        return try await BucketCount(store.redis.run("HGET", store.keys.root(tag), "n")).buckets
    }

    private func read(
        _ app: AppKey, _ names: [ActivityName], _ sink: ([BackupEntry]) async throws -> Void
    ) async throws {
        let keys = store.keys
        let replies = try await store.redis.run(
            names.flatMap { name in
                let tag = keys.tag(app, name)
                return [
                    RedisCommand("HMGET", keys.name(tag), Self.metaFields.map { .string($0) }),
                    RedisCommand("HGETALL", keys.broadcast(tag)), RedisCommand("HGET", keys.root(tag), "n"),
                ]
            })
        for part in Array(names.indices).parts(of: Self.places) {
            // The first page of each is read at the same time, because most names have no other.
            let pages = try await withThrowingTaskGroup(of: (Int, Page).self) { group in
                for index in part {
                    group.addTask { (index, try await page(app, .activity(names[index]), from: .start)) }
                }
                var pages: [Int: Page] = [:]
                for try await (index, page) in group { pages[index] = page }
                return pages
            }
            for index in part {
                let place = TokenPlace.activity(names[index])
                let meta = try fields(replies[3 * index])
                let broadcast = try StoredHash(replies[3 * index + 1])
                guard let page = pages[index] else { continue }
                let buckets = try BucketCount(replies[3 * index + 2]).buckets
                if !meta.isEmpty || page.tokens.count > 0 || page.next != .end {
                    try await sink([.place(place, buckets: buckets, meta: meta)])
                }
                if !broadcast.isEmpty {
                    try await sink([.broadcast(names[index], Dictionary(uniqueKeysWithValues: broadcast.pairs))])
                }
                if page.tokens.count > 0 { try await sink([.tokens(place, page.tokens)]) }
                try await readTokens(app, place, from: page.next, sink)
            }
        }
    }

    private func fields(_ reply: Reply) throws(StoreError) -> [String: String] {
        var meta: [String: String] = [:]
        for (field, value) in zip(Self.metaFields, try reply.array()) where !value.isNil {
            meta[field] = try value.string()
        }
        return meta
    }

    private typealias Page = (tokens: StoredTokens, next: ScanPosition)

    private func page(
        _ app: AppKey, _ place: TokenPlace, from position: ScanPosition
    ) async throws(StoreError) -> Page {
        try await store.tokens.stored(app, place, from: position, limit: Self.tokens)
    }

    private func readTokens(
        _ app: AppKey, _ place: TokenPlace, from position: ScanPosition,
        _ sink: ([BackupEntry]) async throws -> Void
    ) async throws {
        var position = position
        while position < .end {
            let (tokens, next) = try await page(app, place, from: position)
            if tokens.count > 0 { try await sink([.tokens(place, tokens)]) }
            position = next
        }
    }

    /// Reads the channels that the index has, and finds the attributes types with start tokens there.
    private func readChannels(
        _ app: AppKey, _ sink: ([BackupEntry]) async throws -> Void
    ) async throws -> Set<ExactText> {
        var types: Set<ExactText> = []
        for first in stride(from: 0, to: FollowingIndex.size, by: Self.indexBuckets) {
            let buckets = first..<min(first + Self.indexBuckets, FollowingIndex.size)
            let replies = try await store.redis.run(
                buckets.map { RedisCommand("HKEYS", store.keys.followings(app, $0)) })
            var channels: [ChannelID] = []
            for field in try replies.flatMap({ (reply) throws(StoreError) in try reply.byteStrings() }) {
                guard let channel = FollowingIndex.channel(field[...]) else { continue }
                if field.count == 1 + channel.count {
                    if let id = ChannelID(stored: channel) { channels.append(id) }
                } else if case .startTokens(let type) = FollowingIndex.place(field, of: channel) {
                    types.insert(ExactText(type))
                }
            }
            for part in channels.parts(of: Self.names) {
                let records = try await store.redis.run(
                    part.map { RedisCommand("HGETALL", store.keys.channel(app, $0)) })
                try await sink(
                    zip(part, records).compactMap { channel, reply in
                        try StoredChannel(channel, StoredHash(reply)).map(BackupEntry.channel)
                    })
            }
        }
        return types
    }

    private func readSchedules(_ app: AppKey, _ sink: ([BackupEntry]) async throws -> Void) async throws {
        let ids = try await store.redis.run("ZRANGE", store.keys.at(app), "0", "-1").strings()
            .compactMap { PushID($0) }
        for part in ids.parts(of: 100) {
            let records = try await store.redis.run(
                part.map { RedisCommand("HGETALL", store.keys.schedule(app, $0)) })
            try await sink(
                zip(part, records).compactMap { id, reply in
                    var fields: [String: [UInt8]] = [:]
                    for (field, value) in try reply.pairs() {
                        fields[try field.string()] = Array(try value.bytes())
                    }
                    let state = fields["state"].map { String(decoding: $0, as: UTF8.self) }
                    guard state == Schedule.State.scheduled.rawValue || state == Schedule.State.taken.rawValue else {
                        return nil
                    }
                    for field in ["state", "until", "reason"] { fields[field] = nil }
                    return .schedule(id, fields)
                })
        }
    }
}

extension StoredChannel {
    /// Reads a channel's record. A set that the channel leaves is left out. Nil if there is none.
    fileprivate init?(_ channel: ChannelID, _ record: StoredHash) {
        guard let seen = record.number("seen") else { return nil }
        let sets = record.pairs.filter { $0.0.contains(":") && !$0.1.hasPrefix("-") }.map(\.0).sorted()
        self.init(
            channel: channel, created: Int64(record.number("created") ?? seen), seen: Int64(seen), sets: sets)
    }
}

extension Tokens {
    /// Reads about `limit` registrations and tombstones from `position` on, as they are in Redis. Ended ones too.
    fileprivate func stored(
        _ app: AppKey, _ tokens: TokenPlace, from position: ScanPosition, limit: Int
    ) async throws(StoreError) -> (tokens: StoredTokens, next: ScanPosition) {
        var page = StoredTokens()
        let range = position.rawValue..<ScanPosition.end.rawValue
        let (step, _) = try await read(keys.place(app, tokens), range, tokens: limit) {
            bucket, filter throws(StoreError) in
            try bucket.forEachPair { channel, value in
                if channel.count == 1 || channel.count > 255 || value.count > 0xFFFF { return }
                if let filter, !filter.includes(channel) { return }
                page.append(channel, value)
            }
        }
        return (page, ScanPosition(step.positions.upperBound))
    }
}

extension Store {
    public var backup: Backup { Backup(store: self) }
}
