package import LiveActivity

/// A stream entry that a worker has read, until it is acknowledged.
public struct WorkEntry: Sendable, Hashable {
    /// Where an entry is. Also one that cannot be read.
    public struct Place: Sendable, Hashable {
        package var app: AppKey
        package var stream: WorkStream
        package var partition: Partition
        /// The entry's id in its stream.
        public var id: String
    }

    public var item: WorkItem
    public var place: Place
    /// True if the entry was claimed from another worker, or from an earlier run of this one.
    public var isClaimed: Bool
}
