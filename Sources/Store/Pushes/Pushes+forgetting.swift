public import LiveActivity
import Redis

/// How far the oldest pushes of an app were looked at, to keep no more than some.
public struct OldPushes: Sendable {
    /// When the app last had no more pushes than it may, epoch ms.
    fileprivate var measuredAt: Int64?
    /// Where the last step ended.
    fileprivate var hour: Int64 = 0
    fileprivate var slice = 0
    fileprivate var member: [UInt8]?

    public init() {}
}

extension Pushes {
    /// No push that is younger is removed, ms: a publisher may still repeat its request, or look what became of it.
    static let leastAge: Int64 = 2 * PushIndex.hour
    /// The age from which no card can need a push, ms: cards live for 12 h, and their tokens are kept for 13.
    static let ageOfCards: Int64 = 13 * PushIndex.hour
    /// The least time between two measurements of an app that has no more pushes than it may, ms.
    private static let interval: Int64 = 600_000

    /// Removes the oldest pushes of an app that has more than `most`, those that are final and that nothing needs any
    /// more. If the process dies, an entry of the index stays without its push until the index expires; readers skip it.
    /// - Parameter limit: how many pushes this step looks at.
    /// - Returns: how many it removed. Nil: there is nothing to do for now.
    public func forgetOldest(
        _ app: AppKey, most: Int, limit: Int, _ old: inout OldPushes
    ) async throws(StoreError) -> Int? {
        let now = time.now()
        if most == 0 { return nil }
        if let at = old.measuredAt, (0..<Self.interval).contains(now - at) { return nil }
        let sizes = try await index.sizes(app, since: now - index.life, now: now + PushIndex.hour)
        guard sizes.map(\.size).reduce(0, +) > most else {
            old = OldPushes()
            old.measuredAt = now
            return nil
        }
        old.measuredAt = nil
        let newest = (now - Self.leastAge) / PushIndex.hour - 1
        let next = sizes.first { ($0.hour, $0.slice) >= (old.hour, old.slice) && $0.size > 0 && $0.hour <= newest }
        guard let next else {
            old = OldPushes()
            return nil
        }
        let position = (next.hour, next.slice) == (old.hour, old.slice) ? old.member : nil
        let members = try await index.members(app, hour: next.hour, slice: next.slice, after: position, limit: limit)
        (old.hour, old.slice, old.member) = (next.hour, next.slice, members.last)
        if members.count < limit { (old.slice, old.member) = (next.slice + 1, nil) }
        let pushes = members.compactMap { member in PushIndex.push(member).map { (member, $0.id, $0.name) } }
        let replies = try await redis.run(pushes.map { forget(app, $0.1, $0.2, now: now) })
        var removed: [RedisArgument] = []
        for ((member, _, _), reply) in zip(pushes, replies) where try reply.integer() == 1 {
            removed.append(.bytes(member))
        }
        if !removed.isEmpty {
            try await redis.run([
                RedisCommand("ZREM", keys.pushIndex(app, hour: next.hour, slice: next.slice), removed)
            ])
        }
        return removed.count
    }

    private func forget(_ app: AppKey, _ id: PushID, _ name: ActivityName, now: Int64) -> RedisCommand {
        let tag = keys.tag(app, name)
        return RedisCommand(
            Lua.pushForget,
            keys: [
                "p": keys.push(tag, id), "pr": keys.pruned(tag, id), "tr": keys.trace(tag, id),
                "shown": keys.receipts(tag, id, .shown), "ended": keys.receipts(tag, id, .ended),
                "dismissed": keys.receipts(tag, id, .dismissed), "n": keys.name(tag), "v": keys.contentStates(tag),
                "w": keys.tasks(tag, id), "d": keys.deadLetter(tag, id), "h": keys.retryQueues(tag),
                "o": keys.pendingRemovals(tag), "q": keys.unswept(tag), "t": keys.broadcastQueue(tag),
            ],
            ["id": .string(id.description), "cards": .int(now - Self.ageOfCards)])
    }
}
