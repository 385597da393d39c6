public import StoreGround

/// Why the store refused a publish. Nothing was changed then.
public enum AcceptanceRefusal: Sendable, Hashable {
    /// The publisher's timestamp is older than the name's last one (epoch seconds): 409.
    case timestampBehind(last: Int)
    /// The name is closed: it ended, and no new card and no start has opened it since: 409.
    case nameClosed
    /// Too much work waits: 429, with the seconds to wait.
    case queueFull(QueueScope, retryAfter: Int)
    /// The idempotency key was used with another body: 409.
    case idempotencyConflict
}
