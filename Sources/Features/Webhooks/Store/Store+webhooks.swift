import LiveActivity
import Redis

extension Store {
    public var webhooks: Webhooks { Webhooks(redis: redis, keys: keys) }

    /// The sender's side of webhooks, with a connection of its own for each call of this.
    public func webhookQueue() -> WebhookQueue {
        WebhookQueue(connection: redis.blockingConnection(), redis: redis, keys: keys)
    }
}

/// Apps without outgoing events have no numbers.
extension FleetCount {
    public static let webhookWaiting = FleetCount(
        "lamplighter_fleet_webhook_waiting", "events that wait for the webhook"
    ) { store, apps, _ throws(StoreError) in
        try await lengths(store, apps) { store.keys.eventQueue($0) }
    }

    public static let webhookDead = FleetCount(
        "lamplighter_fleet_webhook_dead", "events that the webhook did not take", decides: "dead events"
    ) { store, apps, _ throws(StoreError) in
        try await lengths(store, apps) { store.keys.deadEvents($0) }
    }

    private static func lengths(
        _ store: Store, _ apps: [AppKey], _ key: (AppKey) -> RedisKey
    ) async throws(StoreError) -> [Double?] {
        let lengths = try await store.redis.run(apps.map { RedisCommand("XLEN", key($0)) })
        return try zip(apps, lengths).map { (app, length) throws(StoreError) in
            store.events.isOn(app) ? Double(try length.integer()) : nil
        }
    }
}

extension ActionKind {
    static let webhooks: [ActionKind] = [retryEvents, discardEvents]

    public static let retryEvents = ActionKind("retry_events")
    public static let discardEvents = ActionKind("discard_events")
}
