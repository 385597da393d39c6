public import LiveActivity
package import Redis
public import StoreGround

/// The queue of events for apps' webhooks, for the worker that sends them. One worker at a time sends an app's events,
/// under a lease, in the order of the queue. An event stays until the webhook has taken it or it is a dead event. If
/// the worker dies, the next one sends it again. It blocks on a connection of its own.
public struct WebhookQueue: Sendable {
    private static let block: Duration = .seconds(2)
    private static let step = 500

    package let connection: RedisBlockingConnection
    package let redis: RedisClient
    package let keys: Keyspace

    package init(connection: RedisBlockingConnection, redis: RedisClient, keys: Keyspace) {
        self.connection = connection
        self.redis = redis
        self.keys = keys
    }

    /// Takes the lease or prolongs it.
    /// - Returns: false if another worker has it.
    public func hold(_ app: AppKey, owner: String, for length: Duration) async throws(StoreError) -> Bool {
        try await redis.lease(keys.webhookLease(app), owner: owner, for: length)
    }

    /// How the last attempt failed; nil if it did not.
    public func failure(_ app: AppKey) async throws(StoreError) -> WebhookFailure? {
        WebhookFailure(try await redis.hash(keys.eventQueueState(app)))
    }

    /// Gives the lease back, so that another worker need not wait for its end.
    public func giveBack(_ app: AppKey, owner: String) async throws(StoreError) {
        _ = try await redis.lease(keys.webhookLease(app), owner: owner, for: .zero)
    }

    /// The oldest events, at most `limit`. Waits two seconds for the first one; empty then, or after `interrupt`.
    public func read(_ app: AppKey, limit: Int) async throws(StoreError) -> [StoredEvent] {
        let queue = keys.eventQueue(app)
        let (events, unreadable) = try await connection.read(queue, after: "0", limit: limit, waiting: Self.block)
        if !unreadable.isEmpty { try await redis.run("XDEL", queue, unreadable.map { .string($0) }) }
        return events
    }

    /// The webhook has taken the events.
    /// - Parameter endsFailure: the attempt before failed.
    public func delivered(
        _ app: AppKey, _ events: ArraySlice<StoredEvent>, endsFailure: Bool
    ) async throws(StoreError) {
        var commands = [RedisCommand("XDEL", keys.eventQueue(app), events.map { .string($0.entry) })]
        if endsFailure {
            commands.append(RedisCommand("HDEL", keys.eventQueueState(app), "since", "attempts", "reason", "next"))
        }
        _ = try await redis.atOnce(commands)
    }

    public func failed(_ app: AppKey, _ failure: WebhookFailure) async throws(StoreError) {
        try await redis.run(
            "HSET", keys.eventQueueState(app), "since", .int(failure.since), "attempts", .int(failure.attempts),
            "reason", .string(failure.reason), "next", .int(failure.next))
    }

    /// Makes the events dead events, in one step.
    public func giveUp(
        _ app: AppKey, _ events: ArraySlice<StoredEvent>, reason: String
    ) async throws(StoreError) {
        if events.isEmpty { return }
        let dead = keys.deadEvents(app)
        let trim: [RedisArgument] = ["MAXLEN", "~", .int(Events.mostQueued), "*", "reason", .string(reason)]
        let adds = events.map { event in
            RedisCommand("XADD", dead, trim + ["added", .int(event.addedAt)] + event.fields)
        }
        _ = try await redis.atOnce(
            adds + [
                RedisCommand("PEXPIRE", dead, .int(keys.retention)),
                RedisCommand("XDEL", keys.eventQueue(app), events.map { .string($0.entry) }),
            ])
    }

    /// Makes all events dead events that were added before `time` (epoch ms).
    /// - Returns: how many.
    public func giveUp(_ app: AppKey, addedBefore time: Int64, reason: String) async throws(StoreError) -> Int {
        var count = 0
        while true {
            let found = try await redis.run(
                "XRANGE", keys.eventQueue(app), "-", .string("(\(max(time, 1))-0"), "COUNT", .int(Self.step))
            let events = try found.events().events
            try await giveUp(app, events[...], reason: reason)
            count += events.count
            if events.count < Self.step { return count }
        }
    }

    public func interrupt() async { await connection.interrupt() }
    public func close() { connection.close() }
}
