/// The streams of one app: work of a name and work of a shard, by priority. A worker has separate readers for each. So
/// a small push and its retries never wait behind the shards of a large one, and priority 5 keeps its share.
public enum WorkStream: String, Sendable, Hashable, CaseIterable {
    case namesHigh = "10"
    case namesLow = "5"
    case shardsHigh = "10:s"
    case shardsLow = "5:s"
}
