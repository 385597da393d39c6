import LiveActivity
import Redis

/// One change to the sets that a channel is in. A set is named, as a field of the channel's record, by what follows the
/// app in its key: `t:<group>:<tag>` or `u:<named user>`, each part escaped.
enum ChannelOperation: Sendable, Hashable {
    case add(AudienceSet)
    case remove(AudienceSet)
    /// Of the sets whose field begins with the prefix, these and no other.
    case set(prefix: String, [AudienceSet])

    static func field(_ set: AudienceSet) -> String {
        switch set {
        case .tag(let tag, let group): "t:\(Keyspace.escapedPart(group)):\(Keyspace.escapedPart(tag))"
        case .namedUser(let user): "u:\(Keyspace.escapedPart(user))"
        }
    }

    static func list(_ change: TagChange) -> [ChannelOperation] {
        change.set.map { group, tags in
            .set(prefix: "t:\(Keyspace.escapedPart("\(group)")):", tags.map { .tag("\($0)", group: "\(group)") })
        }
            + change.add.flatMap { group, tags in tags.map { .add(.tag("\($0)", group: "\(group)")) } }
            + change.remove.flatMap { group, tags in tags.map { .remove(.tag("\($0)", group: "\(group)")) } }
    }

    var arguments: [RedisArgument] {
        switch self {
        case .add(let set): ["add", .string(Self.field(set))]
        case .remove(let set): ["remove", .string(Self.field(set))]
        case .set(let prefix, let sets):
            ["set", .string(prefix), .int(sets.count)] + sets.map { .string(Self.field($0)) }
        }
    }
}

extension Keyspace {
    /// The key of the set that a field of a channel's record stands for; nil for another field.
    func members(_ app: AppKey, field: String) -> String? {
        guard let parts = field.cut(at: UInt8(ascii: ":")), ["t", "u"].contains(parts.head) else { return nil }
        return "\(prefix):\(parts.head):{\(app):\(parts.tail)}"
    }
}

extension Channels {
    private struct Work {
        var channel: ChannelID
        var operations: [RedisArgument]
        var version = 0
        var fields: [String] = []
    }

    /// Channels of one round trip, and arguments of all of them together: a call with many tags is encoded for each channel.
    private static let batch = 500
    private static let batchArguments = 100_000
    /// For how long a writer may be between its mark and its change of the sets: longer than any command waits for its answer.
    static let crossing: Duration = .seconds(60)
    /// Rounds against other writers of the same channel; what is left undone then is marked, and done by the next change.
    private static let rounds = 16

    /// Three steps, each one round trip for all channels: the record says what is to be (channel-mark), the sets are
    /// brought to it, the record says that they are (channel-confirm). Dying after any step leaves marks in the record,
    /// which the next change of the channel works off. If another writer changed the record between the first and
    /// the third, its sets and ours may have crossed, and ours are brought to the record once more. A change that changes
    /// nothing, as apps send on each launch, is the first step only.
    func applyMemberships(
        _ app: AppKey, _ channels: [ChannelID], _ operations: [ChannelOperation]
    ) async throws(StoreError) {
        let arguments = operations.flatMap(\.arguments)
        var full: [ChannelID] = []
        let batch = max(1, min(Self.batch, Self.batchArguments / max(1, arguments.count)))
        for start in stride(from: 0, to: channels.count, by: batch) {
            var open = channels[start..<min(start + batch, channels.count)]
                .map { Work(channel: $0, operations: arguments) }
            for _ in 0..<Self.rounds where !open.isEmpty {
                open = try await mark(app, open, &full)
                let sets = Set(open.flatMap(\.fields).map { ExactText($0) })
                open = try await confirm(app, open)
                if let set = sets.randomElement() { await tidy(app, set.description) }
            }
        }
        if let first = full.first { throw .tooManyTags(first, limit: maximumTags) }
    }

    /// Marks the records and changes the sets; gives those that were changed. Adds channels that have too many tags to `full`.
    private func mark(_ app: AppKey, _ open: [Work], _ full: inout [ChannelID]) async throws(StoreError) -> [Work] {
        let times: [RedisArgument] = [
            .int(clock()), .int(life.milliseconds), .int(Self.crossing.milliseconds), "most",
            .int(maximumTags),
        ]
        let replies = try await pipeline(
            open.map { work in
                RedisCommand(
                    Lua.channelMark, keys: [.string(keys.channel(app, work.channel))],
                    arguments: times + work.operations)
            })
        // By the keys' bytes: as strings, tags that Unicode sees as the same text would be one.
        var joins: [[UInt8]: [RedisArgument]] = [:]
        var leaves: [[UInt8]: [RedisArgument]] = [:]
        var pending: [Work] = []
        for (var work, reply) in zip(open, replies) {
            let isFull = try redisErrors { () throws(RedisError) in
                let first = try reply.array().first
                return (try? first?.string()) == "full"
            }
            if isFull {
                full.append(work.channel)
                continue
            }
            try redisErrors { () throws(RedisError) in
                let items = try reply.array()
                guard let version = items.first else { throw .unexpectedReply("channel-mark gave nothing") }
                work.version = try version.integer()
                let member = RedisArgument.bytes(work.channel.stored)
                for index in stride(from: 1, to: items.count - 1, by: 2) {
                    let field = try items[index].string()
                    guard let key = keys.members(app, field: field).map({ Array($0.utf8) }) else { continue }
                    work.fields.append(field)
                    if try items[index + 1].string() == "+" {
                        joins[key, default: []].append(member)
                    } else {
                        leaves[key, default: []].append(member)
                    }
                }
            }
            if !work.fields.isEmpty { pending.append(work) }
        }
        let changes =
            joins.flatMap { [RedisCommand("SADD", [.bytes($0.key)] + $0.value), expiry(ofSet: .bytes($0.key))] }
            + leaves.map { RedisCommand("SREM", [.bytes($0.key)] + $0.value) }
        if !changes.isEmpty {
            for reply in try await pipeline(changes) {
                _ = try redisErrors { () throws(RedisError) in try reply.integer() }
            }
        }
        return pending
    }

    /// A set outlives the records of all that are in it: each of them has renewed it within a quarter of its life before it was
    /// last seen.
    private func expiry(ofSet key: RedisArgument) -> RedisCommand {
        life > .zero
            ? RedisCommand("PEXPIRE", [key, .int((life + life / 4 + .seconds(86_400)).milliseconds)])
            : RedisCommand("PERSIST", [key])
    }

    /// Gives those whose record was changed meanwhile, to be brought to it again.
    private func confirm(_ app: AppKey, _ pending: [Work]) async throws(StoreError) -> [Work] {
        guard !pending.isEmpty else { return [] }
        let replies = try await pipeline(
            pending.map { work in
                RedisCommand(
                    Lua.channelConfirm, keys: [.string(keys.channel(app, work.channel))],
                    arguments: [.int(work.version), .int(clock())] + work.fields.map { .string($0) })
            })
        var again: [Work] = []
        for (work, reply) in zip(pending, replies)
        where try redisErrors({ () throws(RedisError) in try reply.integer() }) == 0 {
            again.append(Work(channel: work.channel, operations: work.fields.flatMap { ["again", .string($0)] }))
        }
        return again
    }
}
