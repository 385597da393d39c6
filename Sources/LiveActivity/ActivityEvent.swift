public enum ActivityEvent: String, Sendable, Hashable, CaseIterable {
    case start, update, end

    /// How long a push without an expiry is tried. A card takes updates for eight hours. A start is useless after one.
    public var life: Duration { self == .start ? .seconds(3_600) : .seconds(8 * 3_600) }
}
