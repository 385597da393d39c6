public import LiveActivity

/// A page of ledgers, newest first.
public struct HistoryAnswer: AnswerBody {
    public let total: Int?
    public let pushes: [LedgerAnswer]
    public let next: String?

    public init(total: Int?, pushes: [LedgerAnswer], next: String?) {
        (self.total, self.pushes, self.next) = (total, pushes, next)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == HistoryAnswer {
        try fields.ok()
        total = try fields.optional("total", \.total, "Pushes of the app that are kept. Only on the first page of all.")
        pushes = try fields("pushes", \.pushes, .list(atMost: 1000))
        next = try fields.optional("next", \.next, "`after` of the next page.")
    }
}

/// The content of a push, and whom it was for.
public struct ContentAnswer: AnswerBody {
    public let pushID: String
    public let audience: RawJSON
    public let deviceTypes: [String]?
    public let payloadBytes: Int
    public let payload: RawJSON
    public let notification: RawJSON?

    public init(
        pushID: String, audience: RawJSON, deviceTypes: [String]?, payloadBytes: Int, payload: RawJSON,
        notification: RawJSON? = nil
    ) {
        (self.pushID, self.audience, self.deviceTypes) = (pushID, audience, deviceTypes)
        (self.payloadBytes, self.payload, self.notification) = (payloadBytes, payload, notification)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ContentAnswer {
        pushID = try fields("push_id", \.pushID, .pushID)
        audience = try fields("audience", \.audience, .named("Selector"))
        deviceTypes = try fields.optional("device_types", \.deviceTypes, .deviceTypes)
        payloadBytes = try fields("payload_bytes", \.payloadBytes)
        payload = try fields(
            "payload", \.payload, "What APNs got. A push for Android alone has the content state for Android here.")
        notification = try fields.optional(
            "notification", \.notification,
            "The platforms that it is for, each with its own content in the form of a push. Absent: iOS alone.")
    }
}

/// A channel that a push did not light.
public struct UnlitChannelAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let channelID, outcome, reason: String

    public init(channelID: String, outcome: String, reason: String) {
        (self.channelID, self.outcome, self.reason) = (channelID, outcome, reason)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == UnlitChannelAnswer {
        channelID = try fields("channel_id", \.channelID, .channel)
        outcome = try fields("outcome", \.outcome, .words(["pruned", "failed"]))
        reason = try fields("reason", \.reason)
    }
}

/// The channels that a push did not light, as far as they are kept.
public struct UnlitChannelsAnswer: AnswerBody {
    public let pushID: String
    public let channels: [UnlitChannelAnswer]

    public init(pushID: String, channels: [UnlitChannelAnswer]) {
        (self.pushID, self.channels) = (pushID, channels)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == UnlitChannelsAnswer {
        pushID = try fields("push_id", \.pushID, .pushID)
        channels = try fields("channels", \.channels)
    }
}

/// The exchanges with APNs for the channel that a push traces.
public struct PushTraceAnswer: AnswerBody {
    public let pushID, name, channelID, state: String
    public let total: Int
    public let exchanges: [RawJSON]

    public init(pushID: String, name: String, channelID: String, state: String, total: Int, exchanges: [RawJSON]) {
        (self.pushID, self.name, self.channelID, self.state) = (pushID, name, channelID, state)
        (self.total, self.exchanges) = (total, exchanges)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == PushTraceAnswer {
        pushID = try fields("push_id", \.pushID, .pushID)
        name = try fields("name", \.name, .name)
        channelID = try fields("channel_id", \.channelID, .channel)
        state = try fields("state", \.state, .pushState)
        total = try fields("total", \.total, "Exchanges so far. The newest ten are kept.")
        exchanges = try fields("exchanges", \.exchanges, .list(.named("Exchange"), atMost: 10))
    }
}
