public import LiveActivity
import Redis

/// Writes the entries of a backup into a deployment, which may be empty or at work. Newer entries of the deployment
/// stay. To repeat an entry, also after a crash, changes nothing but how long keys live.
public struct Restore: Sendable {
    /// Names that are written at the same time, because most wait for Redis with a few tokens. Parts of large names
    /// count by their tokens.
    private static let (names, tokens) = (256, 12_000)

    let store: Store
    /// The age at which the app's cards are to be ended automatically.
    let endAfter: Duration?
    /// Schedules whose time has passed go out too. They may have been sent after the backup.
    let restoresOverdue: Bool

    /// Writes entries of an app, which may come in any parts of their order in the backup.
    public func write(_ app: AppKey, _ entries: [BackupEntry]) async throws(StoreError) -> RestoreCounts {
        var counts = RestoreCounts()
        var tokens: [(TokenPlace, StoredTokens)] = []
        var channels: [StoredChannel] = []
        var places: [(place: TokenPlace, buckets: Int, meta: [String: String])] = []
        for entry in entries {
            switch entry {
            case .place(let place, let buckets, let meta): places.append((place, buckets, meta))
            case .tokens(let place, let stored): tokens.append((place, stored))
            case .channel(let channel): channels.append(channel)
            case .schema(let type, let document): counts.schemas += try await restore(app, type, document) ? 1 : 0
            case .record(let kind, let name, let record):
                counts.records += try await kind.add(store, app, name, record) ? 1 : 0
            case .broadcast(let name, let fields): counts.broadcasts += try await restore(app, name, fields) ? 1 : 0
            case .schedule(let id, let fields): try await restore(app, id, fields, &counts)
            }
        }
        // A name gets its buckets before its tokens come.
        for place in places where place.buckets > 1 {
            try await store.registry.buckets.make(place.buckets, in: store.keys.place(app, place.place))
        }
        try await restore(app, places.filter { !$0.meta.isEmpty }.map { ($0.place, $0.meta) })
        counts.names += places.count { !$0.place.isForStartTokens }
        counts += try await restore(app, tokens)
        for part in channels.parts(of: Channels.batch) {
            let restored = try await store.channels.restore(app, Array(part))
            counts.channels += restored
            counts.expired += part.count - restored
        }
        return counts
    }

    private func restore(
        _ app: AppKey, _ tokens: [(TokenPlace, StoredTokens)]
    ) async throws(StoreError) -> RestoreCounts {
        var sum = RestoreCounts()
        var rest = tokens[...]
        while !rest.isEmpty {
            var count = 0
            let part = rest.prefix(Self.names).prefix { _, stored in
                defer { count += stored.count }
                return count < Self.tokens
            }
            rest = rest.dropFirst(part.count)
            let results = await withTaskGroup(of: Result<RestoreCounts, StoreError>.self) { group in
                for (place, stored) in part {
                    group.addTask {
                        do throws(StoreError) {
                            return .success(
                                try await store.registry.restore(app, place, stored, endAfter: endAfter))
                        } catch {
                            return .failure(error)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for result in results { sum += try result.get() }
        }
        return sum
    }

    private func restore(
        _ app: AppKey, _ names: [(place: TokenPlace, meta: [String: String])]
    ) async throws(StoreError) {
        if names.isEmpty { return }
        let keys = store.keys
        try await store.redis.run(
            names.map { place, meta in
                // A name that exists stays open or closed as it is.
                let shared = ["type", "ts"].filter { meta[$0] != nil }
                let fields = shared + (meta["ended"] == nil ? [] : ["ended"])
                return RedisCommand(
                    Lua.hashRestore, keys: ["hash": keys.name(keys.tag(app, place))],
                    ["life": .int(keys.nameRetention), "added": .int(shared.count)],
                    rest: fields.flatMap { [.string($0), .string(meta[$0] ?? "")] })
            })
    }

    /// The schema that the deployment has stays.
    private func restore(_ app: AppKey, _ type: String, _ document: [UInt8]) async throws(StoreError) -> Bool {
        if try await store.schemas.document(app, type: type) != nil { return false }
        return try await store.schemas.set(app, type: type, document: document)
    }

    /// The broadcast channel that the name has stays. One that has another name's id is left out.
    private func restore(
        _ app: AppKey, _ name: ActivityName, _ fields: [String: String]
    ) async throws(StoreError) -> Bool {
        let keys = store.keys
        guard let state = fields["state"].flatMap(BroadcastState.init(rawValue:)),
            fields["storage"].flatMap(BroadcastStorage.init(rawValue:)) != nil
        else { throw .corrupt("broadcast channel") }
        if let id = fields["id"] {
            // The index comes first, because a broadcast channel must be counted while a record names it.
            let index = keys.broadcastIndex(app)
            let (_, holder) = try await store.redis.run([
                RedisCommand("HSETNX", index, .string(id), .string(name.rawValue)),
                RedisCommand("HGET", index, .string(id)),
            ]).values(.any("HSETNX"), .optionalString("holder"))
            if holder.map({ ExactText($0) }) != name.exact { return false }
        }
        let kept = ["state", "storage", "id", "created", "delete_at", "since"]
        let reply = try await store.redis.run(
            Lua.hashRestore, keys: ["hash": keys.broadcast(keys.tag(app, name))], ["life": "0", "added": "0"],
            rest: kept.flatMap { field in fields[field].map { [.string(field), .string($0)] } ?? [] })
        // A repeated call sets the timer again, because the first may have died before.
        let now = store.time.now()
        switch state {
        case .wanted, .deleting: try await store.broadcasts.wake(app, name, at: now)
        case .live:
            if let at = fields["delete_at"].flatMap({ Int64($0) }) {
                try await store.broadcasts.wake(app, name, at: at)
            }
        }
        return try reply.isOne()
    }

    private func restore(
        _ app: AppKey, _ id: PushID, _ fields: [String: [UInt8]], _ counts: inout RestoreCounts
    ) async throws(StoreError) {
        var fields = fields
        fields["state"] = Array(Schedule.State.scheduled.rawValue.utf8)
        let schedule = try Schedule(id: id, StoredHash(fields))
        if schedule.due <= store.time.now(), !restoresOverdue {
            counts.overdue += 1
            return
        }
        // A schedule that the deployment has sent or cancelled stays so.
        counts.schedules += try await store.schedules.create(app, [schedule]) != nil ? 1 : 0
    }
}

extension Channels {
    /// Brings channels of a backup back, with their tags and named users, unless a call has named them since.
    /// - Returns: how many were not too old.
    func restore(_ app: AppKey, _ channels: [StoredChannel]) async throws(StoreError) -> Int {
        let now = clock()
        var works: [Work] = []
        for channel in channels where life == .zero || channel.seen + life.milliseconds > now {
            let sets = channel.sets.filter { keys.members(app, field: $0) != nil }
            works.append(
                Work(
                    channel: channel.channel,
                    operations: [
                        "exact", .int(min(channel.created, now)), .int(min(channel.seen, now)), .int(sets.count),
                    ]
                        + sets.map { .string($0) }))
        }
        var full: [ChannelID] = []
        if !works.isEmpty { try await change(app, works, &full, "part") }
        return works.count
    }
}

extension Store {
    public func restore(endAfter: Duration?, overdueSchedules: Bool = false) -> Restore {
        Restore(store: self, endAfter: endAfter, restoresOverdue: overdueSchedules)
    }
}
