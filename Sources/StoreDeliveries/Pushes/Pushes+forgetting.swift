public import LiveActivity
import Redis
public import StoreGround

/// How far the oldest pushes of an app were looked at, to keep no more than some.
public struct OldPushes: Sendable {
    /// Where a step ended, in the order of the index.
    fileprivate struct Position {
        var hour: Int64 = 0
        var slice = 0
        var member: [UInt8]?
    }

    /// When the app was last measured, epoch ms.
    var measuredAt: Int64?
    /// The sets that had pushes then, and how many pushes were too many. Less what this process has removed.
    fileprivate var sets: ArraySlice<(hour: Int64, slice: Int, size: Int)> = []
    fileprivate var excess = 0
    fileprivate var position = Position()
    /// The last time that all sets were measured, epoch ms, and the pushes that the sets of the hours before `upTo` had
    /// then.
    var whole: (at: Int64, upTo: Int64, pushes: Int)?

    public init() {}
}

extension Pushes {
    /// No push is removed that was accepted, or whose id was made, less than this long ago, ms: an `Idempotency-Key`
    /// holds its ids for a day.
    static let leastAge: Int64 = 25 * PushIndex.hour
    /// The age from which no card needs a state, ms: cards live for 12 h, and their tokens are kept for 13.
    static let ageOfCards: Int64 = 13 * PushIndex.hour
    /// The least time between two measurements, ms: of an app that has no more pushes than it may, or whose oldest ones
    /// were all looked at; and while some are removed, because other workers do that too.
    private static let (interval, intervalWhileFull): (Int64, Int64) = (600_000, 60_000)
    /// The least time between two measurements of all hours, ms, of an app that has room.
    private static let wholeInterval = 6 * PushIndex.hour

    /// Removes the oldest pushes of an app that has more than `most`, if they are final and nothing needs them any
    /// more. If the process dies, an entry of the index stays without its push until the index expires. Readers skip
    /// it.
    /// - Parameter limit: how many pushes this step looks at.
    /// - Returns: how many it removed. Nil: there is nothing to do for now.
    public func forgetOldest(
        _ app: AppKey, most: Int, limit: Int, _ old: inout OldPushes
    ) async throws(StoreError) -> Int? {
        if most == 0 { return nil }
        let now = time.now()
        let interval = old.sets.isEmpty ? Self.interval : Self.intervalWhileFull
        if old.measuredAt.map({ !(0..<interval).contains(now - $0) }) ?? true {
            try await measure(app, most: most, now: now, &old)
        }
        let position = old.position
        old.sets = old.sets.drop { ($0.hour, $0.slice) < (position.hour, position.slice) }
        guard old.excess > 0, let set = old.sets.first else {
            old.sets = []
            return nil
        }
        let member = (set.hour, set.slice) == (position.hour, position.slice) ? position.member : nil
        let (members, next) = try await index.members(
            app, hour: set.hour, slice: set.slice, after: member, limit: limit)
        let removed = try await forget(app, members, now: now)
        old.excess -= removed
        old.position = .init(hour: set.hour, slice: next == nil ? set.slice + 1 : set.slice, member: next)
        return removed
    }

    /// A walk that is under way goes on where it is. Older hours only lose pushes, so an app that has room by what they
    /// had before has room: a cluster needs a command for each set, and a week has 2,700.
    private func measure(
        _ app: AppKey, most: Int, now: Int64, _ old: inout OldPushes
    ) async throws(StoreError) {
        old.measuredAt = now
        if let whole = old.whole, (0..<Self.wholeInterval).contains(now - whole.at) {
            let newer = try await kept(app, since: whole.upTo, now: now)
            if whole.pushes + newer <= most {
                old.sets = []
                return
            }
        }
        let sizes = try await index.sizes(app, since: now - index.life, now: now + PushIndex.hour)
        if old.sets.isEmpty { old.position = .init() }
        old.excess = sizes.map(\.size).reduce(0, +) - most
        let newest = (now - Self.leastAge) / PushIndex.hour - 1
        old.sets = sizes.filter { $0.size > 0 && $0.hour <= newest }[...]
        // The hour before may still get a push that was on its way.
        let open = now / PushIndex.hour - 1
        let older = sizes.filter { $0.hour < open }.map(\.size).reduce(0, +)
        old.whole = (at: now, upTo: open * PushIndex.hour, pushes: older)
    }

    /// Removes the members' pushes that may go, and then all their entries in the index.
    private func forget(_ app: AppKey, _ members: [[UInt8]], now: Int64) async throws(StoreError) -> Int {
        let pushes = members.compactMap(PushIndex.push)
        let replies = try await redis.run(pushes.map { forget(app, $0.id, $0.name, now: now) })
        var gone: [(id: PushID, name: ActivityName, acceptedAt: Int64)] = []
        for (push, reply) in zip(pushes, replies) {
            let acceptedAt = Int64(try reply.integer())
            if acceptedAt > 0 { gone.append((push.id, push.name, acceptedAt)) }
        }
        if !gone.isEmpty { try await redis.run(index.drops(app, gone)) }
        return gone.count
    }

    private func forget(_ app: AppKey, _ id: PushID, _ name: ActivityName, now: Int64) -> RedisCommand {
        let tag = keys.tag(app, name)
        return RedisCommand(
            Lua.pushForget,
            keys: [
                "p": keys.push(tag, id), "pk": keys.keptPushes(tag, id), "pr": keys.pruned(tag, id),
                "tr": keys.trace(tag, id),
                "shown": keys.receipts(tag, id, .shown), "ended": keys.receipts(tag, id, .ended),
                "dismissed": keys.receipts(tag, id, .dismissed), "n": keys.name(tag), "v": keys.contentStates(tag),
                "w": keys.tasks(tag, id), "d": keys.deadLetter(tag, id), "h": keys.retryQueues(tag),
                "o": keys.pendingRemovals(tag), "q": keys.unswept(tag), "t": keys.broadcastQueue(tag),
                "outbox": keys.outbox(tag),
            ],
            [
                "id": .string(id.description), "before": .int(now - Self.leastAge),
                "cards": .int(now - Self.ageOfCards),
            ])
    }
}
