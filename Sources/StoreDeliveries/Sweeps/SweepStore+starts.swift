public import LiveActivity
import Redis
public import StoreGround
public import StoreRegistry

/// Facts on the name's slot that decide whether a start is sent to the channels of a page of start tokens.
public struct StartFacts: Sendable {
    /// By index in the page: the channel follows the name with the token of an activity that is not over.
    public var follows: [Bool] = []
    /// By index in the page: the channel waits for an older push of the name.
    public var waits: [Bool] = []
    /// By index in the page: its user dismissed the name's card, and the start respects that.
    public var dismissed: [Bool] = []
    /// An `end` for everyone was accepted after the start.
    public var isClosed = false
}

extension SweepStore {
    /// Reads the facts at one moment, in one round trip.
    public func startFacts(
        _ app: AppKey, _ name: ActivityName, _ tokens: Tokens, _ page: TokenPage, of start: PushRecord
    ) async throws(StoreError) -> StartFacts {
        try await startFacts(app, name, tokens, (0..<page.count).map { Array(page.channel($0)) }, of: start)
    }

    private func startFacts(
        _ app: AppKey, _ name: ActivityName, _ tokens: Tokens, _ channels: [[UInt8]], of start: PushRecord
    ) async throws(StoreError) -> StartFacts {
        let tag = keys.tag(app, name)
        let (entries, removals, replies) = try await tokens.lookup(
            keys.place(app, .activity(name)), channels,
            and: [
                RedisCommand("HMGET", keys.retryQueues(tag), channels.map { .bytes($0) }),
                RedisCommand("HMGET", keys.name(tag), "over", "ends"),
            ] + (start.respectsDismissal ? [Dismissals(redis: redis, keys: keys).command(app, name, channels)] : []))
        var values = ReplyValues(replies)
        let queues = try values.next(.array("retry queues"))
        try StoreError.check(queues.count, of: "HMGET", is: channels.count)
        let (over, ends) = try values.next(.any("name")).values(.optionalNumber("over"), .optionalString("ends"))
        var facts = StartFacts(
            follows: entries.map { $0 != nil }, waits: queues.map { !$0.isNil },
            isClosed: over ?? 0 > start.sequence)
        facts.dismissed = Array(repeating: false, count: channels.count)
        guard start.respectsDismissal else { return facts }
        let dismissals = try values.last(.array("dismissals"))
        try StoreError.check(dismissals.count, of: "HMGET", is: channels.count)
        let since = Dismissals.lastEnd(ends, before: start.sequence)
        for index in 0..<channels.count {
            // A card that began later is another one.
            let earliest = max(since, entries[index]?.registeredAt ?? 0)
            let told = try dismissals[index].optionalNumber().map { Int64($0) } ?? 0
            facts.dismissed[index] = max(told, removals[index] ?? 0) > earliest
        }
        return facts
    }

    /// Gives waiting channels whose next push is a start their start tokens, in place of the tokens of activities.
    /// - Returns: the channels, and whether an `end` for everyone was accepted after the start.
    public func starts(
        _ lease: Lease, _ tokens: Tokens, _ waiting: [WaitingChannel], of start: PushRecord
    ) async throws(StoreError) -> (channels: [WaitingChannel], isClosed: Bool) {
        if start.startPlaces.isEmpty { return (waiting, false) }
        let channels = waiting.map(\.channel)
        let fields = channels.map { RedisArgument.bytes($0) }
        var found = waiting
        for starts in start.startPlaces {
            let place = keys.place(lease.app, starts)
            let (entries, _, marks) = try await tokens.lookup(
                place, channels,
                and: [keys.quarantine(place.tag), keys.otherEnvironment(place.tag)].map {
                    RedisCommand("HMGET", $0, fields)
                })
            let (quarantined, elsewhere) = try marks.values(.array("quarantine"), .array("other environment"))
            for reply in marks {
                try StoreError.check(reply.count, of: "HMGET", is: channels.count)
            }
            // A channel is an install on one platform, so it is in one of the places.
            for (index, entry) in entries.enumerated() where entry != nil || starts == start.startPlaces.first {
                try found[index].take(entry, quarantine: quarantined[index], elsewhere: elsewhere[index])
                found[index].unreachable = entry?.unreachable
            }
        }
        let meta = keys.name(keys.tag(lease.app, lease.name))
        let over = try await redis.run("HGET", meta, "over").optionalNumber() ?? 0
        if start.respectsDismissal {
            // As for a page of a sweep: the user may have dismissed the card while the start waited.
            let facts = try await startFacts(lease.app, lease.name, tokens, channels, of: start)
            for index in found.indices { found[index].hasDismissed = facts.dismissed[index] }
        }
        return (found, over > start.sequence)
    }
}
