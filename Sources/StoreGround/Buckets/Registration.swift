public import LiveActivity

/// A channel follows a name with this token. All times are epoch milliseconds.
public struct Registration: Sendable, Hashable {
    public var channel: ChannelID
    public var token: PushToken
    /// The device's `action_ts_ms`. A time in the future is clamped to now.
    public var registeredAt: Int64
    /// The activity's start, up to `mostAhead` later; nil = `registeredAt`. It is live for 8 h, then on screen for 4 h.
    public var startedAt: Int64?
    /// ActivityKit's id of the activity. A removal names its activity by it.
    public var activityID: String?
    public var frequentPushesEnabled: Bool?
    /// The channel gets the state that was published before, if it begins to follow with this registration.
    public var wantsState: Bool
    /// The address that is kept with the channel is another one. A channel that follows gets the newest state again,
    /// because it may have gone to no device before.
    public var isMoved = false
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
