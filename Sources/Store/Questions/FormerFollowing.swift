public import LiveActivity

/// A place where a channel had a token, for some hours after that.
public struct FormerFollowing: Sendable, Hashable {
    public var place: TokenPlace
    /// How it ended: `left`, `pruned` or `over`.
    public var presence: Explanation.Presence
}
