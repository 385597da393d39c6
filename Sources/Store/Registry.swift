public import LiveActivity
import Redis

/// SKELETON. A channel follows a name with this token. All times in epoch milliseconds.
public struct Registration: Sendable, Hashable {
    public var channel: ChannelID
    public var token: PushToken
    /// `action_ts_ms`; a time in the future is clamped to now.
    public var registeredAt: Int64
    /// The activity's start; nil = `registeredAt`. It is live for 8 h after it, and on screen for 4 h more.
    public var startedAt: Int64?
    /// ActivityKit's id of the activity, which a removal is matched by.
    public var activityID: String?
    public var frequentPushesEnabled: Bool?
    public init(channel: ChannelID, token: PushToken, registeredAt: Int64, startedAt: Int64? = nil, activityID: String? = nil, frequentPushesEnabled: Bool? = nil) {
        self.channel = channel; self.token = token; self.registeredAt = registeredAt; self.startedAt = startedAt
        self.activityID = activityID; self.frequentPushesEnabled = frequentPushesEnabled
    }
}

public struct Removal: Sendable, Hashable {
    public var channel: ChannelID
    public var removedAt: Int64
    /// Nil removes whatever activity the channel follows under the name.
    public var activityID: String?
    public init(channel: ChannelID, removedAt: Int64, activityID: String? = nil) {
        self.channel = channel; self.removedAt = removedAt; self.activityID = activityID
    }
}

public enum RegistrationResult: Sendable, Hashable {
    /// Stored: new, or newer than what stood there.
    case stored
    /// An equal or newer update was there already, or it is past its life: nothing changed. Not an error for a device.
    case stale
}

/// A token that APNs called dead, in its stored forms.
public struct Prune: Sendable, Hashable {
    public var channel: [UInt8]
    public var token: [UInt8]
    /// A 410's timestamp (epoch ms): prune only a registration from before it. Nil for a 400.
    public var deadSince: Int64?
    public init(channel: [UInt8], token: [UInt8], deadSince: Int64?) { self.channel = channel; self.token = token; self.deadSince = deadSince }
}

public enum PruneResult: Sendable, Hashable {
    /// Removed now, or already by an earlier run of the same prune.
    case pruned
    /// The channel has another token, or registered this one after the 410's timestamp.
    case newer
    /// The channel no longer follows the name.
    case gone
}

/// Where the reading of a name's tokens stands: a place in the order of the bit-reversed 32-bit hash. Growth of the name
/// does not move it: everything before it has been read, whatever the number of buckets. 0 ... 2^32.
public struct ScanPosition: Sendable, Hashable, Comparable {
    public var rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static let start = ScanPosition(0)
    public static let end = ScanPosition(1 << 32)
    public static func < (a: ScanPosition, b: ScanPosition) -> Bool { a.rawValue < b.rawValue }
}

public struct ActivityInfo: Sendable, Hashable {
    public var name: ActivityName
    public var tokens: Int
    public var buckets: Int
    public var lastPushID: PushID?
    public var ended: Bool
    public init(name: ActivityName, tokens: Int, buckets: Int, lastPushID: PushID?, ended: Bool) {
        self.name = name; self.tokens = tokens; self.buckets = buckets; self.lastPushID = lastPushID; self.ended = ended
    }
}

public struct Registry: Sendable {
    let redis: RedisClient
    let keys: Keyspace

    /// One result per registration, in order. Any number; pipelined in batches.
    public func track(_ app: AppKey, _ name: ActivityName, _ registrations: [Registration]) async throws(StoreError) -> [RegistrationResult] { fatalError() }
    public func untrack(_ app: AppKey, _ name: ActivityName, _ removals: [Removal]) async throws(StoreError) { fatalError() }
    /// Compare-and-delete; repeatable.
    public func prune(_ app: AppKey, _ name: ActivityName, _ prunes: [Prune]) async throws(StoreError) -> [PruneResult] { fatalError() }
    /// The tokens from `position` on, at least `limit` of them unless `end` comes first (whole buckets are read).
    /// Each token that is tracked during the whole scan appears in exactly one page.
    public func page(_ app: AppKey, _ name: ActivityName, from position: ScanPosition, to end: ScanPosition, limit: Int) async throws(StoreError) -> (page: TokenPage, next: ScanPosition) { fatalError() }
    /// How many buckets the name has: 0 when nothing follows it, 1 up to about 128 tokens, then about one per 90.
    public func buckets(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> Int { fatalError() }
    /// Nil for a name that nothing follows and nothing was published to. Counts exactly, by reading.
    public func info(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> ActivityInfo? { fatalError() }
    /// Names in byte order, after `cursor` (exclusive).
    public func names(_ app: AppKey, prefix: String, after: String?, limit: Int) async throws(StoreError) -> [ActivityName] { fatalError() }
}
