/// How a broadcast left its queue, or that it is tried again. Metrics count these.
public enum BroadcastEvent: String, Sendable, Hashable, CaseIterable {
    case delivered, failed, expired, superseded, cancelled, retried
}
