public import LiveActivity
import Redis

/// Forgets channels: removes them from every name, set, queue, dead letter and record.
///
/// The steps are noted in Redis before anything is removed. If a process dies, a worker does the rest. Later
/// registrations of a channel stay, because then its app is in use. Repeating a step is harmless.
public struct Forgetting: Sendable {
    /// Ms until a step is looked at again: longer than any command waits. So a registration that overlapped with the
    /// first look is complete at the second one.
    static let pause: Int64 = 60_000
    /// Dead letters in one round trip.
    private static let batch = 1_000

    let redis: RedisClient
    let keys: Keyspace
    let registry: Registry
    let followings: FollowingIndex
    let channels: Channels
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64

    /// The channels among these of which nothing is stored.
    public func unknown(_ app: AppKey, _ channels: [ChannelID]) async throws(StoreError) -> [ChannelID] {
        if channels.isEmpty { return [] }
        let records = try await redis.run(channels.map { RedisCommand("EXISTS", keys.channel(app, $0)) })
        var unknown: [ChannelID] = []
        for (channel, record) in zip(channels, records) where try record.integer() == 0 {
            if try await !followings.has(app, channel.stored) { unknown.append(channel) }
        }
        return unknown
    }

    /// Notes that channels are to be forgotten. A worker does it in a minute, unless `forget` does it before.
    /// - Returns: the time that `forget` takes.
    public func note(_ app: AppKey, _ channels: [ChannelID]) async throws(StoreError) -> Int64 {
        let now = clock()
        try await put(app, channels.map { ForgetStep(askedAt: now, channel: $0.stored) })
        return now
    }

    /// Forgets channels that were noted at `time`.
    public func forget(_ app: AppKey, _ channels: [ChannelID], notedAt time: Int64) async throws(StoreError) {
        for channel in channels { try await run(app, ForgetStep(askedAt: time, channel: channel.stored)) }
    }

    /// Does the steps that are due, at most `limit`. Returns how many there were.
    public func runDue(_ app: AppKey, limit: Int) async throws(StoreError) -> Int {
        let list = keys.forgetSteps(app)
        let reply = try await redis.run("ZRANGEBYSCORE", list, "-inf", .int(clock()), "LIMIT", "0", .int(limit))
        let members = try reply.byteStrings()
        let steps = members.compactMap(ForgetStep.init(stored:))
        let unreadable = members.filter { ForgetStep(stored: $0) == nil }
        if !unreadable.isEmpty { try await redis.run("ZREM", list, unreadable.map { .bytes($0) }) }
        // Other workers leave them alone meanwhile.
        if !steps.isEmpty { try await put(app, steps) }
        for step in steps { try await run(app, step) }
        return members.count
    }

    private func run(_ app: AppKey, _ step: ForgetStep) async throws(StoreError) {
        let isDone: Bool
        if let place = step.place {
            isDone = try await lookAgain(app, step, place)
            if isDone { try await registry.endForgetting(app, place, step.channel, before: step.askedAt) }
        } else {
            let places = try await followings.places(app, step.channel, orMark: true)
            try await put(app, places.map { ForgetStep(askedAt: step.askedAt, channel: step.channel, place: $0) })
            var left: [TokenPlace] = []
            var followed: Set<ActivityName> = []
            for place in places {
                if try await remove(app, step, place) != .registration {
                    left.append(place)
                } else if case .activity(let name) = place {
                    followed.insert(name)
                }
            }
            try await removeFromDeadLetters(app, step.channel) { !followed.contains($0) }
            _ = try await followings.drop(app, step.channel, left)
            switch try await channels.forget(app, step.channel, before: step.askedAt) {
            case .gone: isDone = try await followings.drop(app, step.channel)
            case .isLater:
                try await channels.note(app, step.channel)
                isDone = true
            case .isChanging: isDone = false
            }
        }
        if isDone { try await redis.run("ZREM", keys.forgetSteps(app), .bytes(step.stored)) }
    }

    /// Removes what came late: a registration from before the request, or a page that was being sent. The channel's
    /// note of the place is set aside by now. A registration that overlapped gets it back.
    private func lookAgain(
        _ app: AppKey, _ step: ForgetStep, _ place: TokenPlace
    ) async throws(StoreError) -> Bool {
        let remainder = try await remove(app, step, place)
        if case .activity(let name) = place, remainder != .registration {
            try await removeFromDeadLetters(app, step.channel) { $0 == name }
        }
        switch remainder {
        // A late registration, removed just now, has left a note: look once more for another one.
        case .nothing: return try await followings.drop(app, step.channel, [place])
        case .registration: try await followings.note(app, step.channel, place)
        case .waitingPushes: return false
        }
        return true
    }

    private func remove(
        _ app: AppKey, _ step: ForgetStep, _ place: TokenPlace
    ) async throws(StoreError) -> Remainder {
        let remainder = try await registry.forget(app, place, step.channel, before: step.askedAt)
        if remainder == .waitingPushes, case .activity(let name) = place {
            try await redis.run([WorkQueue.putOff(keys, .retries(app, name, .high), due: clock())])
        }
        return remainder
    }

    /// - Parameter isLeft: whether the channel follows the name no more. Dead letters of other names may be newer than
    ///   the request.
    private func removeFromDeadLetters(
        _ app: AppKey, _ channel: [UInt8], _ isLeft: (ActivityName) -> Bool
    ) async throws(StoreError) {
        var start = 0
        while true {
            let reply = try await redis.run(
                "ZRANGE", keys.deadIndex(app), .int(start), .int(start + Self.batch - 1))
            let letters = try reply.strings().compactMap { DeadLetters.pushAndName($0) }
                .filter { isLeft($0.1) }
            let commands = letters.map { push, name in
                RedisCommand("HDEL", keys.deadChannels(keys.tag(app, name), push), .bytes(channel))
            }
            if !commands.isEmpty { try await redis.run(commands) }
            if reply.count < Self.batch { return }
            start += reply.count
        }
    }

    private func put(_ app: AppKey, _ steps: [ForgetStep]) async throws(StoreError) {
        let due = RedisArgument.int(clock() + Self.pause)
        for part in steps.parts(of: Self.batch) {
            try await redis.run(RedisCommand("ZADD", keys.forgetSteps(app), part.flatMap { [due, .bytes($0.stored)] }))
        }
    }
}

/// The state of a channel's record after a request to forget it.
enum ChannelRemainder {
    case gone
    /// The channel was made after the request, and stays.
    case isLater
    /// The channel still has sets, because another writer changes them.
    case isChanging
}

extension Channels {
    /// Notes that a channel has a record.
    func note(_ app: AppKey, _ stored: [UInt8]) async throws(StoreError) {
        try await redis.run(followings.notes(app, [stored], life: life))
    }

    /// Takes a channel out of its sets and removes its record, unless the record was made after `time` (epoch ms).
    func forget(
        _ app: AppKey, _ stored: [UInt8], before time: Int64
    ) async throws(StoreError) -> ChannelRemainder {
        guard let channel = ChannelID(stored: stored) else { return .gone }
        let key = keys.channel(app, channel)
        let created = try await redis.run("HGET", key, "created")
        if created.isNil { return .gone }
        // A time ahead was stored before the clock was set back.
        let now = clock()
        let latest = now + ServerTime.error.milliseconds
        if let since = try created.optionalTime(), since > time, since <= latest { return .isLater }
        // A prefix is `t:GROUP:` for a group of tags, or `u:`.
        let fields = try await redis.run("HKEYS", key).strings()
        let prefixes = Set(
            fields.compactMap { field -> ExactText? in
                let last = field.utf8.lastIndex(of: UInt8(ascii: ":"))
                return last.map { ExactText(String(field.utf8[...$0]) ?? "") }
            })
        try await applyMemberships(app, [channel], prefixes.map { .set(prefix: $0.description, []) })
        let isGone = try await redis.run(
            Lua.channelForget, keys: ["c": key],
            [
                "before": .int(time), "now": .int(RegistryRecord.stamp(now)),
                "latest": .int(RegistryRecord.stamp(latest)),
            ]
        ).isOne()
        return isGone ? .gone : .isChanging
    }

    /// Gives the channels of a named user to `body`, a part at a time.
    public func eachChannel(
        _ app: AppKey, of user: String, _ body: ([ChannelID]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        let set = AudienceSet.namedUser(user)
        try await redis.eachPart("SSCAN", keys.members(app, set), "COUNT", "500") { part throws(StoreError) in
            let members = try part.byteStrings().compactMap { ChannelID(stored: $0) }
            // A member may be left over from a record that expired.
            let gone = Set(try await without(app, Keyspace.field(set), members))
            let found = members.filter { !gone.contains($0) }
            if !found.isEmpty { try await body(found) }
        }
    }
}
