package import LiveActivity
import Redis

/// One of the slots over which the streams and timers of names' work are spread. One server has one partition. A name's
/// work is always in the same one. Other timers (schedules, automatic ends, broadcast channels) are in the first.
public struct Partition: Sendable, Hashable {
    /// How many a cluster has. A worker blocks on each of them. docs/adr/0012-cluster.md has the reasons.
    package static let ofCluster = 8
    package static let first = Partition(number: 0)

    package let number: Int
    /// The hash tag of its keys.
    package var tag: String { number == 0 ? "{q}" : "{q\(number)}" }
}

extension Keyspace {
    package var allPartitions: [Partition] { (0..<partitions).map(Partition.init) }

    /// The partition of a name's work: FNV-1a of its bytes, so that every process and version agrees.
    package func partition(_ name: ActivityName) -> Partition {
        if partitions == 1 { return .first }
        let hash = name.rawValue.utf8.fnv1a
        return Partition(number: Int((hash ^ hash >> 32) % UInt64(partitions)))
    }
}

extension Sequence<UInt8> {
    /// The hash FNV-1a with 64 bits. Inlinable, so that callers in other modules run no generic code for each byte.
    @inlinable package var fnv1a: UInt64 { reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } }
}

/// The streams of one app: work of a name and work of a shard, by priority. A worker has separate readers for each. So
/// a small push and its retries never wait behind the shards of a large one, and priority 5 keeps its share.
public enum WorkStream: String, Sendable, Hashable, CaseIterable {
    case namesHigh = "10"
    case namesLow = "5"
    case shardsHigh = "10:s"
    case shardsLow = "5:s"
}
