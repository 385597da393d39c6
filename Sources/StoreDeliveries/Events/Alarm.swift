public import LiveActivity

/// Something that an operator must look at. It stands until a worker clears it or it is not repeated for a while.
public struct Alarm: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// APNs refuses the app's provider token.
        case credentials
        /// APNs does not answer.
        case unreachable
        /// Too many tokens were called dead by a 400, so they are quarantined instead of pruned.
        case pruneGuard = "prune_guard"
        /// Unusually many tokens were called dead by a 410. They are pruned.
        case manyUnregistered = "many_unregistered"
        /// The second APNs environment of an app refuses what the first one takes.
        case otherEnvironment = "other_environment"
        /// APNs makes or deletes no broadcast channels for the app.
        case broadcast
        /// Pushes expired before they were sent to all of their targets, or before their broadcast channel was made.
        case expired
        /// The app's webhook does not take its events.
        case webhook
        /// A process ended because a newer version has changed the format of what is stored.
        case newerFormat = "newer_format"
        /// The clock of a machine and Redis's differ.
        case clock
        /// The user in `redis.url` lacks a right.
        case redisRights = "redis_rights"
        /// Finished pushes are not exported (`pushes.export`).
        case export
    }

    public var app: AppKey
    public var kind: Kind
    public var reason: String
    /// Epoch milliseconds of its first raising.
    public var since: Int64
}
