import Redis

/// Each of these blocks on a connection of its own, so that nothing else waits behind it.
extension Store {
    /// Readers of work, one for each partition.
    public func readers() -> [WorkReader] { keys.allPartitions.map(reader) }

    func reader(_ partition: Partition) -> WorkReader {
        WorkReader(connection: redis.blockingConnection(), queue: queue, partition: partition)
    }

    /// A reader of intakes, with a connection of its own for each call of this.
    public func intake() -> Intake { Intake(connection: redis.blockingConnection(), redis: redis, keys: keys) }

    /// The sender's side of webhooks, with a connection of its own for each call of this.
    public func webhookQueue() -> WebhookQueue {
        WebhookQueue(connection: redis.blockingConnection(), redis: redis, keys: keys)
    }

    /// A reader of outgoing events, with a connection of its own for each call of this.
    public func eventReader() -> EventReader {
        EventReader(connection: redis.blockingConnection(), redis: redis, keys: keys)
    }
}
