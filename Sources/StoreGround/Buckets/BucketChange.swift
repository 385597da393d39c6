package import Redis

package struct BucketChange: Sendable {
    /// Fields beyond which a bucket is divided: larger ones are cheap to read, but dear to write (compact encoding).
    package static let threshold = 128
    /// Changes of one round trip: tens of milliseconds of the server's time. A bucket can be overfilled by as many.
    package static let batch = 500

    package let channel: [UInt8]
    /// The channel's arguments in a call for a whole bucket.
    package let arguments: [RedisArgument]

    package init(channel: [UInt8], arguments: [RedisArgument] = []) {
        self.channel = channel
        self.arguments = arguments
    }
}

/// The answer of a script that changes a bucket. Empty: the change is stale, so nothing was stored.
package struct BucketAnswer: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The change is stored, and the bucket is too full.
    package static let isOverfull = BucketAnswer(rawValue: 2)
    /// The caller must wake a worker for late joiners.
    package static let wakesLateJoiners = BucketAnswer(rawValue: 4)
    /// The name had no tokens and no tombstones before. It may have left its app's index.
    package static let beginsName = BucketAnswer(rawValue: 8)
}
