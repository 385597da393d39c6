public enum ActivityEvent: String, Sendable, Hashable, CaseIterable {
    case start, update, end

    /// How long a push without an expiry is tried after its acceptance. A card takes updates for eight hours. A card
    /// that starts an hour late is of no use.
    public var life: Duration { self == .start ? .seconds(3_600) : .seconds(8 * 3_600) }
}
