public import LiveActivity
package import Redis
public import StoreGround

/// How an app's webhook fails, as of the last attempt.
public struct WebhookFailure: Sendable, Hashable {
    /// When the first of the attempts in a row failed, epoch milliseconds.
    public var since: Int64
    /// How many attempts in a row.
    public var attempts: Int
    /// The last answer or why there was none, in words.
    public var reason: String
    /// When the next attempt is due, epoch milliseconds.
    public var next: Int64

    public init(since: Int64, attempts: Int, reason: String, next: Int64) {
        (self.since, self.attempts, self.reason, self.next) = (since, attempts, reason, next)
    }

    /// The time until the next attempt. Nil: it is due, also if it seems further away than the longest pause, because
    /// Redis's clock was set back since.
    public func pause(now: Int64, longest: Duration) -> Duration? {
        let left = Duration.milliseconds(next - now)
        return left > .zero && left <= longest ? left : nil
    }
}

/// An app's webhook, as an operator sees it.
public struct WebhookStatus: Sendable, Hashable {
    /// Events in the queue.
    public var waiting: Int
    /// Events that it did not take, as far as they are kept.
    public var dead: Int
    /// Events that the full queue lost, ever.
    public var dropped: Int
    /// The failure of the last attempt. Nil if the endpoint accepted it.
    public var failure: WebhookFailure?

    package init(waiting: Int = 0, dead: Int = 0, dropped: Int = 0, failure: WebhookFailure? = nil) {
        (self.waiting, self.dead, self.dropped, self.failure) = (waiting, dead, dropped, failure)
    }
}

/// An event that the webhook did not take.
public struct DeadEvent: Sendable, Hashable {
    public var event: StoredEvent
    /// The last answer, or why there was none.
    public var reason: String
    /// When it was added to the queue, epoch milliseconds.
    public var addedAt: Int64
}

/// The webhooks of apps: what waits for them, and what they did not take. `WebhookQueue` is the sender's side.
public struct Webhooks: Sendable {
    private static let step = 200

    package let redis: RedisClient
    package let keys: Keyspace

    package init(redis: RedisClient, keys: Keyspace) { (self.redis, self.keys) = (redis, keys) }

    public func status(_ app: AppKey) async throws(StoreError) -> WebhookStatus {
        let (waiting, dead, state) = try await redis.run([
            RedisCommand("XLEN", keys.eventQueue(app)), RedisCommand("XLEN", keys.deadEvents(app)),
            RedisCommand("HGETALL", keys.eventQueueState(app)),
        ]).values(.integer("waiting events"), .integer("dead events"), .hash("state"))
        return WebhookStatus(
            waiting: waiting, dead: dead, dropped: state.number("dropped") ?? 0, failure: WebhookFailure(state))
    }

    /// Events that the webhook did not take, the latest first.
    /// - Parameter after: the `entry` of the last one of the page before; nil: from the latest on.
    public func dead(_ app: AppKey, after: String?, limit: Int) async throws(StoreError) -> [DeadEvent] {
        // Redis refuses the interval before its first id.
        if after.map(StoredEvent.isFirstEntry) == true { return [] }
        let start = after.map { "(\($0)" } ?? "+"
        let reply = try await redis.run(
            "XREVRANGE", keys.deadEvents(app), .string(start), "-", "COUNT", .int(limit))
        return try reply.array().compactMap { try? DeadEvent($0) }
    }

    /// Puts dead events at the end of the queue. A crash or a second caller may put some there twice.
    /// - Parameter entry: only this one; nil: all.
    /// - Returns: how many there were.
    public func retry(_ app: AppKey, _ entry: String? = nil) async throws(StoreError) -> Int {
        try await each(app, entry) { event in
            [RedisCommand("XADD", keys.eventQueue(app), ["*"] + event.fields)]
        }
    }

    /// Deletes dead events.
    public func discard(_ app: AppKey, _ entry: String? = nil) async throws(StoreError) -> Int {
        try await each(app, entry) { _ in [] }
    }

    /// Removes dead events, each with the commands of `body` in the same step.
    private func each(
        _ app: AppKey, _ entry: String?, _ body: (StoredEvent) -> [RedisCommand]
    ) async throws(StoreError) -> Int {
        let key = keys.deadEvents(app)
        var count = 0
        while true {
            let (first, last) = (entry ?? "-", entry ?? "+")
            let found = try await redis.run(
                "XRANGE", key, .string(first), .string(last), "COUNT", .int(Self.step))
            let (events, unreadable) = try found.events()
            let entries = events.map(\.entry) + unreadable
            if entries.isEmpty { return count }
            _ = try await redis.atOnce(
                events.flatMap(body) + [RedisCommand("XDEL", key, entries.map { .string($0) })])
            count += events.count
            if entry != nil || entries.count < Self.step { return count }
        }
    }
}

extension Keyspace {
    /// Events that the webhook did not take.
    package func deadEvents(_ app: AppKey) -> RedisKey { key("wh:{\(app)}:dead") }
    /// The worker that sends to the webhook.
    package func webhookLease(_ app: AppKey) -> RedisKey { key("wh:{\(app)}:lease") }
}

extension Alarm.Kind {
    /// The app's webhook does not take its events.
    public static let webhook = Alarm.Kind(
        "webhook", title: "Webhook", log: "the app's webhook does not take events: they are kept for a while",
        meaning: "The webhook answers no 2xx. Events wait for it.", ends: "It ends with the first event it takes.",
        page: ("/console/events", "Decide in Events"), isQueued: false)
}

extension WebhookFailure {
    init?(_ state: StoredHash) {
        guard let attempts = state.number("attempts"), let since = state.number("since"),
            let next = state.number("next")
        else { return nil }
        self.init(since: Int64(since), attempts: attempts, reason: state.text("reason") ?? "", next: Int64(next))
    }
}

extension DeadEvent {
    fileprivate init(_ reply: Reply) throws(StoreError) {
        let fields = try reply.entry().fields.hash()
        event = try StoredEvent(reply)
        reason = fields.text("reason") ?? ""
        addedAt = fields.number("added").map(Int64.init) ?? event.addedAt
    }
}
