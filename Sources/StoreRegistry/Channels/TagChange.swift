public import LiveActivity

/// Tags by group; Airship's ungrouped tags are group `device`. `set` is applied first, then `add`, then `remove`.
public struct TagChange: Sendable, Hashable {
    public var add: [ExactText: Set<ExactText>] = [:]
    public var remove: [ExactText: Set<ExactText>] = [:]
    /// Replaces the whole group.
    public var set: [ExactText: Set<ExactText>] = [:]
    public init() {}

    public var isEmpty: Bool { add.isEmpty && remove.isEmpty && set.isEmpty }
}
