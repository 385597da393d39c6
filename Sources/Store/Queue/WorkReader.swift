public import LiveActivity
import Redis

/// A connection that does one blocking read at a time and nothing else.
public struct WorkReader: Sendable {
    let connection: RedisBlockingConnection
    let queue: WorkQueue

    /// New entries of a stream, at most `count` of each app; empty after `block` or `interrupt()`.
    public func read(
        _ stream: WorkStream, _ apps: [AppKey], consumer: String, count: Int, block: Duration
    ) async throws(StoreError) -> (entries: [WorkEntry], unreadable: [(AppKey, String)]) {
        let command = queue.read(stream, apps, consumer: consumer, count: count, block: block)
        let reply = try await redisErrorsAsync { () async throws(RedisError) in
            try await connection.send(command, blockingFor: block)
        }
        return try queue.entries(reply, stream, apps)
    }

    /// Wakes a blocked read. The read still returns entries that Redis has delivered.
    public func interrupt() async { await connection.interrupt() }
    public func close() { connection.close() }
}

extension Store {
    public func reader() -> WorkReader { WorkReader(connection: redis.blockingConnection(), queue: queue) }
}
