/// How much APNs stores of a broadcast channel's messages, for devices that are offline or late. It never changes.
public enum BroadcastStorage: String, Sendable, Hashable, CaseIterable {
    /// APNs stores nothing. Every message has expiration 0, and the channel has the higher publishing budget.
    case none
    /// APNs stores the newest message for up to eight hours.
    case newest

    /// `message-storage-policy`
    public var policy: Int { self == .none ? 0 : 1 }
}
