/// One publish after validation: everything that the gateway knows before it renders and commits.
public struct Publish: Sendable, Hashable {
    public var name: ActivityName
    public var event: ActivityEvent
    public var audience: Audience
    public var priority: PushPriority
    /// Epoch seconds; nil: the time of acceptance.
    public var timestamp: Int?
    public var contentState: RawJSON?
    public var staleDate: Int?
    public var dismissalDate: Int?
    /// As the publisher wrote it.
    public var relevanceScore: RawJSON?
    /// The `alert` object as the publisher wrote it; nil: a silent update.
    public var alert: RawJSON?
    public var attributesType: String?
    public var attributes: RawJSON?
    /// By platform. Its keys are the platforms whose devices the push is for.
    public var contents = PushContent.ofPayload
    public var options: PublishOptions
    /// How long the push is tried after its acceptance if `options.expiry` is not set. Nil: the default of its event.
    public var life: Duration?
    /// The caller who published it. Nil: no caller of the gateway did.
    public var publisher: Publisher?
    /// The span that accepts it, as a `traceparent`. Nil: its trace is not sampled.
    public var traceparent: String?

    public init(
        name: ActivityName, event: ActivityEvent, audience: Audience, priority: PushPriority = .high,
        timestamp: Int? = nil, contentState: RawJSON? = nil, staleDate: Int? = nil, dismissalDate: Int? = nil,
        relevanceScore: RawJSON? = nil, alert: RawJSON? = nil, attributesType: String? = nil,
        attributes: RawJSON? = nil, options: PublishOptions = PublishOptions()
    ) {
        (self.name, self.event, self.audience, self.priority) = (name, event, audience, priority)
        (self.timestamp, self.contentState, self.staleDate) = (timestamp, contentState, staleDate)
        (self.dismissalDate, self.relevanceScore, self.alert) = (dismissalDate, relevanceScore, alert)
        (self.attributesType, self.attributes, self.options) = (attributesType, attributes, options)
    }

    /// The most bytes of a payload that APNs accepts for a token. It accepts more for a broadcast channel.
    public static let maximumTokenPayload = 4_096

    /// Whether the push also goes to the name's broadcast channel. A broadcast knows no audience and starts no
    /// activities.
    public var isForBroadcast: Bool {
        (audience == .all || audience == .platform(.ios)) && event != .start && contents[.ios] != nil
    }

    /// The platforms whose devices it is for.
    public var platforms: [Platform] { Platform.all.filter { contents[$0] != nil } }

    /// Whether a newer push of this name that covers this audience may supersede the unsent rest of this one.
    public var isSupersedable: Bool { event == .update && alert == nil && options.conflate }
    /// Whether somebody tries the push on one device: a push for one channel alone, with a trace.
    public var isTest: Bool { audience.isOneChannel && options.trace != nil }
    /// Whether the push goes out at priority 5 once the name's budget of priority 10 is used up.
    public var isDemotable: Bool { event == .update && alert == nil && priority == .high && !options.insist }
}

/// `apns-priority`. 10 is sent at once and counts against the device's budget. 5 is sent when convenient.
public enum PushPriority: Int, Sendable, Hashable, CaseIterable {
    case low = 5
    case high = 10
}

public struct PublishOptions: Sendable, Hashable {
    /// False opts the push out of superseding and pacing.
    public var conflate: Bool
    /// Epoch seconds after which the push is not tried any more, sent as `apns-expiration`; 0: try each token once.
    public var expiry: Int?
    /// Keeps priority 10, whatever the budget says.
    public var insist: Bool
    /// For a start: it also goes to channels that follow the name already.
    public var restart: Bool
    /// For a start: it does not go to channels whose user dismissed the name's card. Nil: as the app's settings say.
    public var respectDismissal: Bool?
    /// The channel whose exchanges with APNs are kept.
    public var trace: ChannelID?
    /// The push that must be the name's newest one when this push is accepted.
    public var after = AfterPush.any

    public init(
        conflate: Bool = true, expiry: Int? = nil, insist: Bool = false, restart: Bool = false, trace: ChannelID? = nil
    ) {
        (self.conflate, self.expiry, self.insist, self.restart) = (conflate, expiry, insist, restart)
        self.trace = trace
    }
}

/// JSON text that is passed on byte for byte. Its maker has checked that it is one JSON value.
public struct RawJSON: Hashable, Sendable {
    public let bytes: [UInt8]
    public init(checked bytes: [UInt8]) { self.bytes = bytes }
    public init(checked text: String) { bytes = Array(text.utf8) }
}
