public import LiveActivity

/// The content of an Android Live Update for all devices that get it.
public struct FCMContent: Sendable, Hashable {
    public var pushID: PushID
    /// Epoch milliseconds. A message to a device that registered after this time has an id of its own: the push id and
    /// the time of the registration. A device drops a message with an id that it has seen, and such a device may have
    /// dropped the push while it had no card. A repeated request keeps the id.
    public var ownIDAfter: Int64
    public var name: ActivityName
    public var event: ActivityEvent
    /// Names the handler in the app. A device ignores a start without one.
    public var type: String?
    /// Epoch seconds. A device orders the messages of a name by it.
    public var timestamp: Int
    public var contentState: RawJSON?
    /// Epoch seconds.
    public var dismissalDate: Int?
    public var priority: PushPriority
    /// Seconds from now on for which FCM keeps the message for a device that is not connected; 0: FCM delivers it now
    /// or never. A message that waits for its turn is kept for the rest of them.
    public var timeToLive: Int
    /// Seconds for which FCM keeps it at most, from when it is sent. Nil: no limit but FCM's own.
    public var keptAtMost: Int?
    /// Epoch seconds after which a device drops the message, by the device's clock.
    public var expiration: Int?
    /// FCM keeps one message of a key for a device, and delivers few of them in a minute. Nil: FCM keeps them all.
    public var collapseKey: String?
    /// Other keys and values of the message.
    public var extra: [String: String]

    public init(
        pushID: PushID, ownIDAfter: Int64 = .max, name: ActivityName, event: ActivityEvent, type: String? = nil,
        timestamp: Int, contentState: RawJSON?, dismissalDate: Int? = nil, priority: PushPriority = .high,
        timeToLive: Int, keptAtMost: Int? = nil, expiration: Int? = nil, collapseKey: String? = nil,
        extra: [String: String] = [:]
    ) {
        self.pushID = pushID
        self.ownIDAfter = ownIDAfter
        self.name = name
        self.event = event
        self.type = type
        self.timestamp = timestamp
        self.contentState = contentState
        self.dismissalDate = dismissalDate
        self.priority = priority
        self.timeToLive = timeToLive
        self.keptAtMost = keptAtMost
        self.expiration = expiration
        self.collapseKey = collapseKey
        self.extra = extra
    }

    /// The content of a push for Android.
    /// - Parameters:
    ///   - second: epoch seconds, by which devices order the messages of a name
    ///   - expiry: epoch seconds, as the publisher asked for it; 0: try once
    ///   - deadline: the end of the push's life, epoch milliseconds
    ///   - now: epoch milliseconds
    public init(
        _ content: PlatformContent, pushID: PushID, name: ActivityName, event: ActivityEvent, second: Int,
        priority: PushPriority, expiry: Int?, deadline: Int64, now: Int64
    ) {
        let (end, seconds) = (Int(deadline / 1_000), Int(now / 1_000))
        var longest = max(0, end - seconds)
        // FCM must not deliver a state that is out of date. An end takes its card away, however late it comes.
        if event != .end, let staleDate = content.staleDate { longest = min(longest, max(0, staleDate - seconds)) }
        self.init(
            pushID: pushID, name: name, event: event, type: content.type, timestamp: second,
            contentState: content.contentState, dismissalDate: content.dismissalDate, priority: priority,
            timeToLive: expiry == 0 ? 0 : longest,
            // A publisher's expiry counts. Without one, FCM would keep an update for hours.
            keptAtMost: event == .update && expiry == nil ? Self.updateLife : nil, expiration: end,
            collapseKey: content.collapseKey)
    }

    /// How long FCM keeps an update for a device that is not connected, seconds. A state that is older is of no use.
    private static let updateLife = 900

    /// FCM takes no key of its own, and the device's SDK reads the keys of its own.
    public static func isAllowed(extraKey key: String) -> Bool {
        !key.isEmpty && key != "from" && key != "message_type"
            && !["google", "gcm", "com.urbanairship."].contains { key.utf8.starts(with: $0.utf8) }
    }
}
