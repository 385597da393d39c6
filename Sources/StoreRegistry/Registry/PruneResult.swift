public enum PruneResult: Sendable, Hashable {
    /// Removed now, or by an earlier run of the same prune.
    case pruned
    /// The channel has another token, or registered this one after the 410's timestamp.
    case newer
    /// The channel no longer follows the name.
    case gone
}
