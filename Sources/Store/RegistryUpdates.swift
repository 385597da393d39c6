public import LiveActivity

/// A channel follows a name with this token. All times in epoch milliseconds.
public struct Registration: Sendable, Hashable {
    public var channel: ChannelID
    public var token: PushToken
    /// `action_ts_ms`; a time in the future is clamped to now.
    public var registeredAt: Int64
    /// The activity's start; nil = `registeredAt`. It is live for 8 h after it, and on screen for 4 h more. That of an activity
    /// that is scheduled may be ahead, by `mostAhead` at most.
    public var startedAt: Int64?
    /// ActivityKit's id of the activity, which a removal is matched by.
    public var activityID: String?
    public var frequentPushesEnabled: Bool?
    /// If it begins to follow by this, the state that was published before is sent to it at once.
    public var wantsState: Bool

    /// 30 days.
    public static let mostAhead: Int64 = 30 * 86_400_000

    public init(
        channel: ChannelID, token: PushToken, registeredAt: Int64, startedAt: Int64? = nil, activityID: String? = nil,
        frequentPushesEnabled: Bool? = nil, wantsState: Bool = false
    ) {
        self.channel = channel
        self.token = token
        self.registeredAt = registeredAt
        self.startedAt = startedAt
        self.activityID = activityID
        self.frequentPushesEnabled = frequentPushesEnabled
        self.wantsState = wantsState
    }
}

public struct Removal: Sendable, Hashable {
    public var channel: ChannelID
    public var removedAt: Int64
    /// Nil removes whatever activity the channel follows under the name.
    public var activityID: String?

    public init(channel: ChannelID, removedAt: Int64, activityID: String? = nil) {
        self.channel = channel
        self.removedAt = removedAt
        self.activityID = activityID
    }
}

public enum RegistrationResult: Sendable, Hashable {
    /// Stored: new, or newer than what stood there.
    case stored
    /// An equal or newer update was there already, or it is past its life: nothing changed. Not an error for a device.
    case stale
}

/// A token that is to be taken out of a name, in its stored form: APNs called it dead, or its activity has ended.
public struct Prune: Sendable, Hashable {
    public var channel: [UInt8]
    public var token: [UInt8]
    /// A 410's timestamp (epoch ms): prune only a registration from before it. Nil for a 400. When `hasEnded`, the time of
    /// the end's delivery: the token goes whenever it was registered, and is not taken back in by what is older.
    public var deadSince: Int64?
    /// Its `end` was delivered.
    public var hasEnded = false
    /// APNs's word for it, for people.
    public var reason = ""
    /// It is a start token of this attributes type; nil: of the name.
    public var attributesType: String?

    public init(
        channel: [UInt8], token: [UInt8], deadSince: Int64?, reason: String = "", attributesType: String? = nil
    ) {
        self.channel = channel
        self.token = token
        self.deadSince = deadSince
        self.reason = reason
        self.attributesType = attributesType
    }

    public init(channel: [UInt8], token: [UInt8], endedAt: Int64) {
        self.init(channel: channel, token: token, deadSince: endedAt)
        hasEnded = true
    }
}

public enum PruneResult: Sendable, Hashable {
    /// Removed now, or already by an earlier run of the same prune.
    case pruned
    /// The channel has another token, or registered this one after the 410's timestamp.
    case newer
    /// The channel no longer follows the name.
    case gone
}
