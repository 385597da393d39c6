public import LiveActivity
import Redis

/// SKELETON. A publish that the store refused; nothing was changed.
public enum AcceptanceRefusal: Sendable, Hashable {
    /// The publisher's timestamp is older than the name's last (epoch seconds): 409.
    case timestampBehind(last: Int)
    /// The name has ended and nobody began to follow it since: 409.
    case nameEnded
    /// Too much work waits for this app or in all: 429, seconds to wait.
    case queueFull(retryAfter: Int)
    /// The idempotency key was used with another body: 409.
    case idempotencyConflict
}

public enum Acceptance: Sendable, Hashable {
    /// `timestamp` is the one in the payload, epoch seconds.
    case accepted(PushID, sequence: Int, timestamp: Int)
    case refused(AcceptanceRefusal)
}

public struct Pushes: Sendable {
    let redis: RedisClient
    let keys: Keyspace

    /// Commits one publish on its name's slot and wakes a worker; returns when Redis has it.
    /// `payload` as `APNsWire.Payload` renders it; `timestampOffset` is where its ten digits lie.
    /// `id` makes it repeatable: committing the same id again changes nothing and answers the same.
    public func accept(_ app: AppKey, _ publish: Publish, id: PushID, payload: [UInt8], timestampOffset: Int, now: Int64) async throws(StoreError) -> Acceptance { fatalError() }
    /// Reserves push ids for an idempotency key for 24 h: the same ids for the same body (`bodyDigest`), nil for another body.
    public func reserve(_ app: AppKey, idempotencyKey: String, bodyDigest: [UInt8], ids: [PushID]) async throws(StoreError) -> [PushID]? { fatalError() }
    public func ledger(_ app: AppKey, _ id: PushID) async throws(StoreError) -> Ledger? { fatalError() }
    /// Cancels what is unsent. Nil: no such push. The ledger as it is afterwards; a finished push stays as it was.
    public func cancel(_ app: AppKey, _ id: PushID, now: Int64) async throws(StoreError) -> Ledger? { fatalError() }
}
