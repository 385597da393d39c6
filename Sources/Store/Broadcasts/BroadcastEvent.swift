/// For metrics: how broadcasts leave the queue, and retries.
public enum BroadcastEvent: String, Sendable, Hashable, CaseIterable {
    case delivered, failed, expired, superseded, cancelled, retried
}
