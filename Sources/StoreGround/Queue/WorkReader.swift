public import LiveActivity
package import Redis

/// A connection that does one blocking read of one partition at a time and nothing else.
public struct WorkReader: Sendable {
    package let connection: RedisBlockingConnection
    package let queue: WorkQueue
    package let partition: Partition

    package init(connection: RedisBlockingConnection, queue: WorkQueue, partition: Partition) {
        self.connection = connection
        self.queue = queue
        self.partition = partition
    }

    /// New entries of a stream, at most `count` of each app; empty after `block` or `interrupt()`.
    public func read(
        _ stream: WorkStream, _ apps: [AppKey], consumer: String, count: Int, block: Duration
    ) async throws(StoreError) -> WorkQueue.Batch {
        let command = queue.read(stream, apps, partition, consumer: consumer, count: count, block: block)
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await connection.send(command, blockingFor: block)
        } catch {
            throw .redis(error)
        }
        return try queue.entries(Reply(reply), stream, apps, partition)
    }

    /// Wakes a blocked read. The read still returns entries that Redis has delivered.
    public func interrupt() async { await connection.interrupt() }
    public func close() { connection.close() }
}
