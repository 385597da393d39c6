public import LiveActivity
import OpenSSL
package import Redis
public import StoreGround
package import StoreRegistry

/// The result of looking at one name.
public struct EndOutcome: Sendable, Hashable {
    public enum Verdict: Sendable, Hashable {
        /// No card of the name is old enough.
        case nothing
        /// The automatic end is committed.
        case ended
        /// Refused for now. A worker looks at the name again.
        case postponed(AcceptanceRefusal)
    }
    public var verdict: Verdict
    /// The id of the automatic end, also if none was committed.
    public var push: PushID
    /// Cards that were old enough.
    public var cards: Int
}

/// Ends cards some time after their start, before iOS does. The timer holds each name by the time of its first card. At
/// that time an automatic end goes out to the cards that are old enough (docs/adr/0009-automatic-end.md).
///
/// A registration is stored, and then its name joins the timer. A worker takes the name out of the timer, and then
/// reads its cards. So wherever a process dies, a card is read or its name is in the timer. A claimed name is in a
/// second set. If it stays there too long, another worker claims it with the same cutoff and commits the same push.
public struct AutomaticEnds: Sendable {
    /// How long a worker has a name to itself, unless it prolongs the claim.
    static let hold: Duration = .seconds(60)
    /// The pause before a worker looks again at a name whose push was refused.
    static let postponement: Duration = .seconds(10)
    private static let pageSize = 2_000

    package let redis: RedisClient
    package let keys: Keyspace
    package let tokens: Tokens
    package let names: Names
    package let pushes: Pushes

    package init(redis: RedisClient, keys: Keyspace, tokens: Tokens, names: Names, pushes: Pushes) {
        self.redis = redis
        self.keys = keys
        self.tokens = tokens
        self.names = names
        self.pushes = pushes
    }

    /// Claims names that are due by Redis's clock, until this worker reports on each or until `hold` is over.
    public func take(_ app: AppKey, _ rule: EndRule, limit: Int) async throws(StoreError) -> [EndTask] {
        let reply = try await redis.run(
            Lua.endClaim, keys: ["ends": keys.ends(app), "claimed": keys.claimedEnds(app)],
            ["most": .int(limit), "length": .int(Self.hold.milliseconds), "age": .int(rule.age)])
        var tasks: [EndTask] = []
        for member in try reply.strings() {
            if let task = EndTask(app: app, member: member) {
                tasks.append(task)
            } else {
                try await redis.run("ZREM", keys.claimedEnds(app), .string(member))
            }
        }
        return tasks
    }

    /// Commits an automatic end for a name's cards that are old enough. Steps may be repeated if the worker dies.
    /// - Parameters:
    ///   - payload: `task.publish` as `APNsWire.Payload` renders it.
    ///   - timestampOffset: position of the timestamp's ten digits in the payload.
    public func run(
        _ task: EndTask, _ rule: EndRule, payload: [UInt8], timestampOffset: Int
    ) async throws(StoreError) -> EndOutcome {
        let count = try await cards(task)
        let id = Self.push(task)
        if count.due > 0 {
            let acceptance = try await pushes.accept(
                task.app, task.publish, id: id, payload: payload, timestampOffset: timestampOffset,
                isRepeatable: true, cutoff: task.cutoff)
            if case .refused(let refusal) = acceptance {
                try await keep(task, for: Self.postponement)
                return EndOutcome(verdict: .postponed(refusal), push: id, cards: count.due)
            }
        }
        try await close(task, rule, count)
        return EndOutcome(verdict: count.due > 0 ? .ended : .nothing, push: id, cards: count.due)
    }

    /// The id is the same for a name and a cutoff, so the push is committed once, however often that is tried.
    package static func push(_ task: EndTask) -> PushID {
        let digest = SHA256Digest(of: "automatic end\n\(task.app)\n\(task.member)".utf8)
        return PushID(.ordered(at: task.cutoff, named: digest))
    }

    /// Reads the whole name, and prolongs the claim meanwhile.
    func cards(_ task: EndTask) async throws(StoreError) -> CardCount {
        var count = CardCount(cutoff: task.cutoff)
        var position = ScanPosition.start
        var renewed = bootClock()
        while position < .end {
            let (page, next) = try await tokens.page(
                task.app, .activity(task.name), from: position, to: .end, limit: Self.pageSize)
            // The record of a follower with one address begins late, so that it lives longer. It is no card of iOS.
            for entry in page.entries where !entry.platform.hasOneAddress { count.add(startedAt: entry.startedAt) }
            position = next
            if position < .end, bootClock() - renewed > Self.hold.milliseconds / 3 {
                try await keep(task, for: Self.hold)
                renewed = bootClock()
            }
        }
        return count
    }

    private func keep(_ task: EndTask, for time: Duration) async throws(StoreError) {
        try await redis.run(
            "ZADD", keys.claimedEnds(task.app), "XX", .int(pushes.time.now() + time.milliseconds), .string(task.member))
    }

    /// Puts the name back into the timer for its next card, if any. Removes the claim last, in case the worker dies.
    private func close(_ task: EndTask, _ rule: EndRule, _ count: CardCount) async throws(StoreError) {
        let next = count.nextStart.map { [(task.name, due: $0 + rule.after.milliseconds)] }
        let done = RedisCommand("ZREM", keys.claimedEnds(task.app), .string(task.member))
        try await redis.run((next.map { [Names.ending(keys, task.app, $0)] } ?? []) + [done])
    }

    /// Names that existed before the setting are looked at within this many milliseconds.
    private static let adoption: Int64 = 600_000

    /// Puts all followed names into the timer, spread over the next minutes, if the app had no automatic end before or
    /// a later one. A worker calls this when it starts. If it dies half way, the next one does all of it again.
    /// - Parameter rule: nil if the app has no automatic end. The next start with a rule puts all names in.
    /// - Returns: the number of names that were put in.
    public func adopt(_ app: AppKey, _ rule: EndRule?) async throws(StoreError) -> Int {
        let known = keys.endsAfter(app)
        guard let rule else {
            try await redis.run("DEL", known)
            return 0
        }
        let before = try await redis.run("GET", known).optionalNumber().map { Int64($0) }
        let after = rule.after.milliseconds
        if before == after { return 0 }
        var adopted = 0
        if (before ?? .max) > after {
            var last: String?
            let batch = 500
            while true {
                let names = try await self.names.page(app, prefix: "", after: last, limit: batch)
                if names.isEmpty { break }
                let now = pushes.time.now()
                let dues = names.map { ($0, due: now + Int64.random(in: 0...min(after, Self.adoption))) }
                try await redis.run([Names.ending(keys, app, dues)])
                adopted += names.count
                last = names.last?.rawValue
                if names.count < batch { break }
            }
        }
        try await redis.run("SET", known, .int(after))
        return adopted
    }
}

/// A name that a worker has claimed, to end some of its cards.
public struct EndTask: Sendable, Hashable {
    public let app: AppKey
    public let name: ActivityName
    /// Cards that started at this time (epoch ms) or before are to be ended. A later owner keeps it.
    public let cutoff: Int64
}

extension EndTask {
    /// Reads `<cutoff> <name>`. The name comes last because it may contain spaces.
    init?(app: AppKey, member: String) {
        guard let parts = member.cut(at: UInt8(ascii: " ")), let cutoff = StoredNumber.read(parts.head),
            let name = try? ActivityName(parts.tail)
        else { return nil }
        self.init(app: app, name: name, cutoff: Int64(cutoff))
    }

    var member: String { "\(cutoff) \(name)" }

    /// The automatic end. Priority 5, because no user waits for it.
    public var publish: Publish {
        Publish(
            name: name, event: .end, audience: .all, priority: .low,
            options: PublishOptions(expiry: EndRule.expiry(cutoff: cutoff)))
    }
}
