public import LiveActivity
package import Redis
public import StoreGround

/// The outgoing events of apps: from the outboxes of names into the app's stream, and into its queue for the
/// one reader that takes each event away.
public struct Events: Sendable {
    /// Outbox entries that one round moves.
    private static let step = 100
    /// Events of a queue, about. Older ones are dropped.
    static let mostQueued = 100_000

    package let redis: RedisClient
    package let keys: Keyspace
    /// Only of apps with outgoing events.
    package let policies: [AppKey: EventPolicy]

    package init(redis: RedisClient, keys: Keyspace, policies: [AppKey: EventPolicy]) {
        self.redis = redis
        self.keys = keys
        self.policies = policies
    }

    public func isOn(_ app: AppKey) -> Bool { policies[app] != nil }
    /// The events of the app's queue; none if nobody takes them.
    public func queued(_ app: AppKey) -> [OutgoingEvent.Kind] {
        OutgoingEvent.Kind.allCases.filter { policies[app]?.queued.contains($0) ?? false }
    }

    /// Empties the outbox of a name.
    ///
    /// A death before `add` leaves the outbox. A death after it leaves the outbox too, so the events are added again
    /// with the same ids. Two callers at once may also add an event twice, but the first of each are in the outbox's
    /// order.
    public func empty(_ app: AppKey, _ name: ActivityName) async throws(StoreError) {
        guard isOn(app) else { return }
        let tag = keys.tag(app, name)
        let outbox = keys.outbox(tag)
        while true {
            let waiting = try await redis.run("LRANGE", outbox, "0", .int(Self.step - 1)).byteStrings()
            if waiting.isEmpty { return }
            let ends = waiting.compactMap { Outbox.Entry(String(decoding: $0, as: UTF8.self)) }
            let records = try await redis.pushFields(keys, ends.map { (tag, $0.push) })
            var events: [OutgoingEvent] = []
            for (end, record) in zip(ends, records) {
                // A record that expired or cannot be read tells nothing any more.
                guard let ledger = try? Ledger(id: end.push, name: name, record) else { continue }
                events += OutgoingEvent.of(end, ledger, app)
            }
            try await add(app, events)
            // The first of its kind, from the head: another caller may have removed it already.
            try await redis.run(waiting.map { RedisCommand("LREM", outbox, "1", .bytes($0)) })
            if waiting.count < Self.step { return }
        }
    }

    package func add(_ app: AppKey, _ events: [OutgoingEvent]) async throws(StoreError) {
        guard let policy = policies[app] else { return }
        let wanted = events.filter { policy.keep > 0 || policy.queued.contains($0.kind) }
        if wanted.isEmpty { return }
        try await redis.run(
            Lua.eventAdd,
            keys: ["out": keys.events(app), "queue": keys.eventQueue(app), "state": keys.eventQueueState(app)],
            ["keep": .int(policy.keep), "most": .int(Self.mostQueued)],
            rest: wanted.flatMap { event in
                [
                    .string(event.id), .string(event.kind.rawValue), .string(event.text),
                    policy.queued.contains(event.kind) ? "1" : "0",
                ]
            })
    }

    /// The arguments by which a script tells an alarm's event. An app without outgoing events has an empty one.
    package func arguments(of event: OutgoingEvent, _ alarm: Alarm) -> (keep: Int, text: String, isQueued: Bool) {
        guard let policy = policies[alarm.app] else { return (0, "", false) }
        return (policy.keep, event.text, alarm.kind.isQueued && policy.queued.contains(event.kind))
    }
}

/// Which outgoing events an app has, and for whom.
public struct EventPolicy: Sendable, Hashable {
    /// About how many events the app's stream keeps. 0: the app has no stream.
    public var keep: Int
    /// The events of the app's queue. Empty: nobody takes them.
    public var queued: Set<OutgoingEvent.Kind>

    public init(keep: Int = 0, queued: Set<OutgoingEvent.Kind> = []) { (self.keep, self.queued) = (keep, queued) }

    /// Whether anybody gets events. If not, nothing is written for them.
    public var isOn: Bool { keep > 0 || !queued.isEmpty }
}
