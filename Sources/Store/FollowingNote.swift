import LiveActivity
import Redis
import StoreRegistry

/// A feature that learns how many followings of an app's names begin and end by the calls of a process. A call tells
/// it once its change is stored, so it must not wait.
public struct FollowingNote: Sendable {
    /// Makes the function that the calls of one store call.
    let begin: @Sendable (RedisClient, Keyspace, ServerTime) -> Registry.Note

    public static let all = ofFeatures
}
