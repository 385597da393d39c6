import Redis

struct BucketChange: Sendable {
    /// Fields beyond which a bucket is divided: larger ones are cheap to read, but dear to write (compact encoding).
    static let threshold = 128
    /// Changes of one round trip: tens of milliseconds of the server's time. A bucket can be overfilled by as many.
    static let batch = 500

    let channel: [UInt8]
    /// The channel's arguments in a call for a whole bucket.
    var arguments: [RedisArgument] = []
}

/// The answer of a script that changes a bucket. Empty: the change is stale, so nothing was stored.
struct BucketAnswer: OptionSet, Sendable {
    let rawValue: Int
    /// The change is stored, and the bucket is too full.
    static let isOverfull = BucketAnswer(rawValue: 2)
    /// The caller must wake a worker for late joiners.
    static let wakesLateJoiners = BucketAnswer(rawValue: 4)
    /// The name had no tokens and no tombstones before. It may have left its app's index.
    static let beginsName = BucketAnswer(rawValue: 8)
}
