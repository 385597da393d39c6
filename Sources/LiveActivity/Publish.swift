public enum ActivityEvent: String, Sendable, Hashable, CaseIterable {
    case start, update, end

    /// How long a push without an expiry is tried after its acceptance. A card takes updates for eight hours. A card
    /// that starts an hour late is of no use.
    public var life: Duration { self == .start ? .seconds(3_600) : .seconds(8 * 3_600) }
}

/// `apns-priority`. 10 means at once and counts against the device's budget. 5 means when convenient and does not
/// count.
public enum PushPriority: Int, Sendable, Hashable, CaseIterable {
    case low = 5
    case high = 10
}

/// JSON text that is passed on byte for byte. Its maker has checked that it is one JSON value.
public struct RawJSON: Hashable, Sendable {
    public let bytes: [UInt8]
    public init(checked bytes: [UInt8]) { self.bytes = bytes }
    public init(checked text: String) { bytes = Array(text.utf8) }
}

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
    public var options: PublishOptions
    /// How long the push is tried after its acceptance if `options.expiry` is not set. Nil: the default of its event.
    public var life: Duration?

    public init(
        name: ActivityName, event: ActivityEvent, audience: Audience, priority: PushPriority = .high,
        timestamp: Int? = nil, contentState: RawJSON? = nil, staleDate: Int? = nil, dismissalDate: Int? = nil,
        relevanceScore: RawJSON? = nil, alert: RawJSON? = nil, attributesType: String? = nil,
        attributes: RawJSON? = nil, options: PublishOptions = PublishOptions()
    ) {
        self.name = name
        self.event = event
        self.audience = audience
        self.priority = priority
        self.timestamp = timestamp
        self.contentState = contentState
        self.staleDate = staleDate
        self.dismissalDate = dismissalDate
        self.relevanceScore = relevanceScore
        self.alert = alert
        self.attributesType = attributesType
        self.attributes = attributes
        self.options = options
    }

    /// The most bytes of a payload that APNs accepts for a token. It accepts more for a broadcast channel.
    public static let maximumTokenPayload = 4_096

    /// Whether the push also goes to the name's broadcast channel, if there is one. A broadcast channel knows no
    /// audience and cannot start activities.
    public var isForBroadcast: Bool { audience == .all && event != .start }

    /// Whether a newer push may supersede the unsent rest of this one. The newer push must have the same name and cover
    /// this audience.
    public var isSupersedable: Bool { event == .update && alert == nil && options.conflate }

    /// Whether the push goes out at priority 5 once the name's budget of priority 10 is used up.
    public var isDemotable: Bool { event == .update && alert == nil && priority == .high && !options.insist }
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

    public init(conflate: Bool = true, expiry: Int? = nil, insist: Bool = false, restart: Bool = false) {
        self.conflate = conflate
        self.expiry = expiry
        self.insist = insist
        self.restart = restart
    }
}
