/// A stream entry that a worker has read, until it is acknowledged.
public struct WorkEntry: Sendable, Hashable {
    public var item: WorkItem
    /// The entry's id in its stream.
    public var id: String
    /// True if the entry was claimed from another worker, or from an earlier run of this one.
    public var isClaimed: Bool
}
