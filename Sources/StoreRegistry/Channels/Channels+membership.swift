package import LiveActivity
package import Redis
package import StoreGround

/// One change to the sets that a channel is in. The channel's record has a field for each set: `t:<group>:<tag>` or
/// `u:<named user>`, each part escaped. The set's key is the app and the same text.
package enum ChannelOperation: Sendable, Hashable {
    case add(AudienceSet)
    case remove(AudienceSet)
    /// The channel is in these sets, and in no other whose field begins with the prefix.
    case set(prefix: String, [AudienceSet])

    static func list(_ change: TagChange) -> [ChannelOperation] {
        change.set.map { group, tags in
            .set(prefix: "t:\(Keyspace.escapedPart("\(group)")):", tags.map { .tag("\($0)", group: "\(group)") })
        }
            + change.add.flatMap { group, tags in tags.map { .add(.tag("\($0)", group: "\(group)")) } }
            + change.remove.flatMap { group, tags in tags.map { .remove(.tag("\($0)", group: "\(group)")) } }
    }

    /// Divides operations into parts of at most `most` tags, which have the same effect one after the other. A longer
    /// `set` becomes additions and, last, itself. Its tags are there by then, so it does less work.
    static func parts(_ operations: [ChannelOperation], most: Int) -> [[ChannelOperation]] {
        var parts: [[ChannelOperation]] = []
        var room = 0
        func append(_ operation: ChannelOperation, _ tags: Int) {
            if parts.isEmpty || tags > room {
                parts.append([])
                room = most
            }
            parts[parts.count - 1].append(operation)
            room -= tags
        }
        for operation in operations {
            guard case .set(_, let sets) = operation else {
                append(operation, 1)
                continue
            }
            for set in sets.dropLast(most) { append(.add(set), 1) }
            append(operation, max(1, min(sets.count, most)))
        }
        return parts
    }

    /// The sets that it puts channels into.
    var joined: [AudienceSet] {
        switch self {
        case .add(let set): [set]
        case .remove: []
        case .set(_, let sets): sets
        }
    }

    var arguments: [RedisArgument] {
        switch self {
        case .add(let set): ["add", .string(Keyspace.field(set))]
        case .remove(let set): ["remove", .string(Keyspace.field(set))]
        case .set(let prefix, let sets):
            ["set", .string(prefix), .int(sets.count)] + sets.map { .string(Keyspace.field($0)) }
        }
    }
}

extension Channels {
    /// The changes of one channel, while they are made.
    package struct Work {
        package var channel: ChannelID
        package var operations: [RedisArgument]
        package var version = 0
        package var fields: [String] = []

        package init(channel: ChannelID, operations: [RedisArgument]) {
            self.channel = channel
            self.operations = operations
        }
    }

    /// Channels in one round trip, and their arguments together: each channel's command repeats the call's tags.
    package static let batch = 500
    static let batchArguments = 100_000
    /// How many channels fit in one round trip, if each channel's command has this many arguments.
    static func batchSize(of arguments: Int) -> Int { max(1, min(batch, batchArguments / max(1, arguments))) }
    /// Tags in one call of channel-mark, which must stay under 5 ms: 500 take up to 3 ms with a record of 1,000 tags.
    static let tagsOfScript = 500
    /// The longest time between a writer's mark and its change of the sets, longer than any command waits.
    static let crossing: Duration = .seconds(60)
    /// Attempts against other writers of a channel. If they are too few, the channel's next change finishes the marks.
    private static let rounds = 16

    /// Changes the sets in three steps, each of them one round trip for all channels:
    /// 1. The record says what is to be (channel-mark).
    /// 2. The sets are changed.
    /// 3. The record says that they are changed (channel-confirm).
    ///
    /// A crash leaves marks in the record, which the channel's next change finishes. If another writer changed the
    /// record in between, the changes of the sets may have crossed, so the sets are changed to match the record again.
    /// A change without effect, as apps send at each launch, takes only the first step.
    package func applyMemberships(
        _ app: AppKey, _ channels: [ChannelID], _ operations: [ChannelOperation]
    ) async throws(StoreError) {
        try await withRoom(app, channels, operations) { () async throws(StoreError) in
            try await applyAdmitted(app, channels, operations)
        }
    }

    /// Changes the sets for a call for which there is room.
    func applyAdmitted(
        _ app: AppKey, _ channels: [ChannelID], _ operations: [ChannelOperation]
    ) async throws(StoreError) {
        let arguments = operations.flatMap(\.arguments)
        let parts = ChannelOperation.parts(operations, most: Self.tagsOfScript)
        var full: [ChannelID] = []
        for batch in channels.parts(of: Self.batchSize(of: arguments.count)) {
            var channels = Array(batch)
            if parts.count > 1 {
                // A channel that would have too many tags after all parts gets none of them.
                let before = full.count
                _ = try await mark(app, channels.map { Work(channel: $0, operations: arguments) }, &full, "look")
                let refused = Set(full[before...])
                channels.removeAll { refused.contains($0) }
            }
            for part in parts.count > 1 ? parts.map({ $0.flatMap(\.arguments) }) : [arguments] {
                let works = channels.map { Work(channel: $0, operations: part) }
                try await change(app, works, &full, parts.count > 1 ? "part" : "most")
            }
        }
        if let first = full.first { throw .tooManyTags(first, limit: maximumTags) }
    }

    /// The three steps for different channels, again for channels that another writer changed meanwhile. Channels that
    /// would have too many tags come to `full`.
    /// - Parameter limit: as for `mark`
    package func change(
        _ app: AppKey, _ works: [Work], _ full: inout [ChannelID], _ limit: RedisArgument
    ) async throws(StoreError) {
        var open = works
        for _ in 0..<Self.rounds where !open.isEmpty {
            open = try await mark(app, open, &full, limit)
            let sets = Set(open.flatMap(\.fields).map { ExactText($0) })
            open = try await confirm(app, open)
            if let set = sets.randomElement() { await tidy(app, set.description) }
        }
    }

    /// Makes a call that may add the channels, and the tags of the operations, if there is room for them.
    func withRoom<Value>(
        _ app: AppKey, _ channels: [ChannelID], _ operations: [ChannelOperation],
        _ body: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let (now, life) = (clock(), life.milliseconds)
        let tags = quotas.limit(.tags) > 0 ? Set(operations.flatMap(\.joined)).count : 0
        return try await quotas.admitting(.channels, app, channels.count, life: life, redis, now: now) {
            () async throws(StoreError) in
            try await quotas.admitting(.tags, app, tags, life: life, redis, now: now) { () async throws(StoreError) in
                try await requireRoom(app, channels)
                try await requireRoom(app, forTagsOf: operations)
                return try await body()
            }
        }
    }

    /// Throws `quotaReached` if one of the channels is new and the quota is full.
    private func requireRoom(_ app: AppKey, _ channels: [ChannelID]) async throws(StoreError) {
        guard quotas.isFull(.channels, app) else { return }
        let known = channels.map { RedisCommand("EXISTS", keys.channel(app, $0)) }
        let measure = quotas.count(.channels, app, [], life: life.milliseconds, now: clock())
        let replies = try await redis.replies(known + measure.commands)
        quotas.note(.channels, app, measure, replies.dropFirst(known.count))
        guard quotas.isFull(.channels, app) else { return }
        for reply in replies.prefix(known.count) where try reply.integer() == 0 {
            throw .quotaReached(.channels, limit: quotas.limit(.channels))
        }
    }

    /// Throws `quotaReached` if the operations add a tag that no channel has, and the quota is full. No round trip if
    /// there is room.
    private func requireRoom(_ app: AppKey, forTagsOf operations: [ChannelOperation]) async throws(StoreError) {
        guard quotas.isFull(.tags, app) else { return }
        let fields = Set(operations.flatMap(\.joined).map { ExactText(Keyspace.field($0)) })
        let sets = fields.map(\.description).filter(Self.isTag).compactMap { keys.members(app, field: $0) }
        guard !sets.isEmpty else { return }
        let measure = quotas.count(.tags, app, [], life: life.milliseconds, now: clock())
        if measure.measures { quotas.note(.tags, app, measure, try await redis.replies(measure.commands)[...]) }
        guard quotas.isFull(.tags, app) else { return }
        for part in sets.parts(of: Self.tagsLookedUp) {
            for reply in try await redis.run(part.map { RedisCommand("EXISTS", $0) }) where try reply.integer() == 0 {
                throw .quotaReached(.tags, limit: quotas.limit(.tags))
            }
        }
    }

    /// Tags of one pipeline while the quota is full.
    private static let tagsLookedUp = 1_000

    /// Whether a field of a record is a tag of the app. Groups that begin with U+0001 are Lamplighter's own.
    private static func isTag(_ field: String) -> Bool {
        let bytes = field.utf8
        return bytes.starts(with: "t:".utf8) && !bytes.starts(with: "t:\u{1}".utf8)
    }

    /// Returns commands that count the tags that channels join. They travel with the changes of these tags' sets.
    private func tagCount(_ app: AppKey, _ fields: Set<ExactText>) -> Quotas.Count {
        let tags = fields.map(\.description).filter(Self.isTag)
        if tags.isEmpty { return Quotas.Count() }
        return quotas.count(.tags, app, tags.map { .string($0) }, life: life.milliseconds, now: clock())
    }

    /// Marks the records and changes the sets. Returns the channels that changed, and adds channels with too many tags
    /// to `full`.
    /// - Parameter limit: how channel-mark takes the limit: `most`, `look` or `part`
    private func mark(
        _ app: AppKey, _ open: [Work], _ full: inout [ChannelID], _ limit: RedisArgument
    ) async throws(StoreError) -> [Work] {
        let times: KeyValuePairs<String, RedisArgument> = [
            "now": .int(clock()), "life": .int(life.milliseconds), "crossing": .int(Self.crossing.milliseconds),
        ]
        let counting = quotas.count(
            .channels, app, open.map { .bytes($0.channel.stored) }, life: life.milliseconds, now: clock())
        let notes = try await followings.notes(app, open.map(\.channel.stored), life: life)
        let answers = try await redis.replies(
            notes
                + open.map { work in
                    RedisCommand(
                        Lua.channelMark, keys: ["c": keys.channel(app, work.channel)], times,
                        rest: [limit, .int(maximumTags)] + work.operations)
                } + counting.commands)
        let replies = answers.dropFirst(notes.count)
        quotas.note(.channels, app, counting, replies.dropFirst(open.count))
        var sets = SetChanges()
        var pending: [Work] = []
        for (var work, reply) in zip(open, replies) {
            let items = try reply.array()
            guard let first = items.first else { throw .unexpectedReply("channel-mark gave nothing") }
            if (try? first.string()) == "full" {
                full.append(work.channel)
                continue
            }
            work.version = try first.integer()
            for index in stride(from: 1, to: items.count - 1, by: 2) {
                let field = try items[index].string()
                guard let key = keys.members(app, field: field) else { continue }
                work.fields.append(field)
                sets.add(work.channel, field, key, isJoin: try items[index + 1].string() == "+")
            }
            if !work.fields.isEmpty { pending.append(work) }
        }
        try await change(app, sets)
        return pending
    }

    /// The sets of members that records ask to be changed.
    private struct SetChanges {
        private(set) var users: Set<String> = []
        private(set) var joined: Set<ExactText> = []
        private(set) var joins: [RedisKey: [RedisArgument]] = [:]
        private(set) var leaves: [RedisKey: [RedisArgument]] = [:]

        mutating func add(_ channel: ChannelID, _ field: String, _ key: RedisKey, isJoin: Bool) {
            let member = RedisArgument.bytes(channel.stored)
            guard isJoin else { return leaves[key, default: []].append(member) }
            if let user = field.rest(behind: "u:")?.percentDecoded { users.insert(user) }
            joined.insert(ExactText(field))
            joins[key, default: []].append(member)
        }
    }

    private func change(_ app: AppKey, _ sets: SetChanges) async throws(StoreError) {
        let changes =
            sets.joins.flatMap { [RedisCommand("SADD", $0.key, $0.value), expiry(ofSet: $0.key)] }
            + sets.leaves.map { RedisCommand("SREM", $0.key, $0.value) }
        if changes.isEmpty { return }
        // The list of users comes first, because a reader of it drops users without channels.
        let listing = sets.users.isEmpty ? [] : [list(app, users: Array(sets.users))]
        let tags = tagCount(app, sets.joined)
        let results = try await redis.replies(
            listing + changes + tags.commands, inStepsAt: listing.isEmpty ? [] : [1])
        let made = listing.count + changes.count
        for result in results.prefix(made) { if let error = result.error { throw .redis(error) } }
        quotas.note(.tags, app, tags, results.dropFirst(made))
    }

    /// A set outlives its members' records: a member renews it at most a quarter of its life before it is last seen.
    private func expiry(ofSet key: RedisKey) -> RedisCommand {
        life > .zero
            ? RedisCommand("PEXPIRE", key, .int((life + life / 4 + .seconds(86_400)).milliseconds))
            : RedisCommand("PERSIST", key)
    }

    /// Confirms the changes. Returns the channels whose record has changed since, so that their sets are changed again.
    private func confirm(_ app: AppKey, _ pending: [Work]) async throws(StoreError) -> [Work] {
        guard !pending.isEmpty else { return [] }
        let replies = try await redis.replies(
            pending.map { work in
                RedisCommand(
                    Lua.channelConfirm, keys: ["c": keys.channel(app, work.channel)],
                    [
                        "version": .int(work.version), "now": .int(clock()),
                        "crossing": .int(Self.crossing.milliseconds),
                    ], rest: work.fields.map { .string($0) })
            })
        var again: [Work] = []
        for (work, reply) in zip(pending, replies) where try reply.integer() == 0 {
            again.append(Work(channel: work.channel, operations: work.fields.flatMap { ["again", .string($0)] }))
        }
        return again
    }
}
