public import LiveActivity
import StrictJSON

/// The channel that a call created or updated.
public struct ChannelCreatedAnswer: WarnedAnswer {
    public let operationID, channelID: String
    public var warned: AnswerWarnings

    public init(operationID: String, channelID: String, warned: AnswerWarnings = AnswerWarnings()) {
        (self.operationID, self.channelID, self.warned) = (operationID, channelID, warned)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ChannelCreatedAnswer {
        try fields.ok()
        operationID = try fields("operation_id", \.operationID, .operation)
        channelID = try fields("channel_id", \.channelID, .channel)
        warned = try fields.part(\.warned)
    }
}

/// A token that a channel has for a name or an attributes type.
public struct HeldToken: AnswerBody {
    public static var schemaName: String? { nil }
    public let token, registeredAt: String
    public let ageSeconds: Int
    public let startedAt: String?
    public let state: String
    public let otherEnvironment: Bool

    public init(
        token: String, registeredAt: String, ageSeconds: Int, startedAt: String?, state: String, otherEnvironment: Bool
    ) {
        (self.token, self.registeredAt, self.ageSeconds, self.startedAt) = (token, registeredAt, ageSeconds, startedAt)
        (self.state, self.otherEnvironment) = (state, otherEnvironment)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == HeldToken {
        token = try fields("token", \.token, "The first eight digits.")
        registeredAt = try fields("registered_at", \.registeredAt, .time)
        ageSeconds = try fields("age_seconds", \.ageSeconds)
        startedAt = try fields.optional("started_at", \.startedAt, .time)
        state = try fields("state", \.state, .words(["following", "waiting", "quarantined"]))
        otherEnvironment = try fields("other_environment", \.otherEnvironment)
    }
}

/// A name that a channel follows.
public struct FollowingAnswer: AnswerBody {
    public let name: String
    public let held: HeldToken

    public init(name: String, held: HeldToken) {
        (self.name, self.held) = (name, held)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == FollowingAnswer {
        name = try fields("name", \.name, .name)
        held = try fields.part(\.held)
    }
}

/// The start token that a channel has for an attributes type.
public struct StartTokenAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let attributesType: String
    public let held: HeldToken

    public init(attributesType: String, held: HeldToken) {
        (self.attributesType, self.held) = (attributesType, held)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == StartTokenAnswer {
        attributesType = try fields("attributes_type", \.attributesType)
        held = try fields.part(\.held)
    }
}

/// A name or an attributes type that a channel no longer follows.
public struct FormerAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let name, attributesType: String?
    public let state, at: String

    public init(name: String?, attributesType: String?, state: String, at: String) {
        (self.name, self.attributesType, self.state, self.at) = (name, attributesType, state, at)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == FormerAnswer {
        name = try fields.optional("name", \.name)
        attributesType = try fields.optional("attributes_type", \.attributesType)
        state = try fields("state", \.state, .words(["left", "pruned", "over"]))
        at = try fields("at", \.at, .time("UTC, ISO 8601 with milliseconds. For `over` the time of the registration."))
    }
}

/// A channel in Airship's form.
public struct ListedChannelAnswer: AnswerBody {
    public let channelID: String
    /// Nil: it is not known.
    public let deviceType: String?
    public let optIn: Bool
    public let created, lastRegistration, namedUserID: String?
    public let tags: [String]
    public let tagGroups: [ExactText: [String]]
    public let hasIOS18: Bool

    public init(
        channelID: String, deviceType: String?, optIn: Bool, created: String?, lastRegistration: String?,
        namedUserID: String?, tags: [String], tagGroups: [ExactText: [String]], hasIOS18: Bool
    ) {
        (self.channelID, self.deviceType, self.optIn) = (channelID, deviceType, optIn)
        (self.created, self.lastRegistration) = (created, lastRegistration)
        (self.namedUserID, self.tags, self.tagGroups, self.hasIOS18) = (namedUserID, tags, tagGroups, hasIOS18)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ListedChannelAnswer {
        channelID = try fields("channel_id", \.channelID, .channel)
        deviceType = try fields.optional(
            "device_type", \.deviceType,
            "ios or android. Absent if the app sends to both, and the channel never had a token.")
        try fields.constant("installed", true, .bool)
        optIn = try fields("opt_in", \.optIn, "Whether it has a token.")
        created = try fields.optional("created", \.created, .plainTime)
        lastRegistration = try fields.optional("last_registration", \.lastRegistration, .plainTime)
        namedUserID = try fields.nullable("named_user_id", \.namedUserID)
        tags = try fields("tags", \.tags)
        tagGroups = try fields("tag_groups", \.tagGroups)
        hasIOS18 = try fields("ios_18", \.hasIOS18)
    }
}

/// A channel, and what it follows.
public struct ShownChannelAnswer: AnswerBody {
    public let listed: ListedChannelAnswer
    public let liveActivities: [FollowingAnswer]
    public let startTokens: [StartTokenAnswer]
    public let former: [FormerAnswer]

    public init(
        listed: ListedChannelAnswer, liveActivities: [FollowingAnswer], startTokens: [StartTokenAnswer],
        former: [FormerAnswer]
    ) {
        (self.listed, self.liveActivities) = (listed, liveActivities)
        (self.startTokens, self.former) = (startTokens, former)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ShownChannelAnswer {
        listed = try fields.part(\.listed)
        liveActivities = try fields("live_activities", \.liveActivities)
        startTokens = try fields("start_tokens", \.startTokens)
        former = try fields("former", \.former, "What it no longer follows, for some hours.")
    }
}

/// The answer about one channel.
public struct ChannelStoryAnswer: AnswerBody {
    public let channel: ShownChannelAnswer

    public init(channel: ShownChannelAnswer) {
        self.channel = channel
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ChannelStoryAnswer {
        try fields.ok()
        channel = try fields("channel", \.channel)
    }
}

/// A page of channels.
public struct ChannelsAnswer: AnswerBody {
    public let channels: [ListedChannelAnswer]
    public let nextPage: String?

    public init(channels: [ListedChannelAnswer], nextPage: String?) {
        (self.channels, self.nextPage) = (channels, nextPage)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ChannelsAnswer {
        try fields.ok()
        channels = try fields("channels", \.channels)
        nextPage = try fields.optional("next_page", \.nextPage, "The address of the next page.")
    }
}

/// A reason against the next update, or a hint.
public struct ReasonAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let code, text: String

    public init(code: String, text: String) {
        (self.code, self.text) = (code, text)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ReasonAnswer {
        code = try fields(
            "code", \.code,
            .words([
                "left", "pruned", "over", "unknown", "started", "name_ended", "quarantined", "no_address",
                "notifications_off", "paused", "no_worker", "alarm", "waiting", "given_up", "other_environment",
                "infrequent",
            ]))
        text = try fields("text", \.text)
    }
}

/// The answer to a request to forget, which is done, or will be within minutes.
public struct ForgottenAnswer: AnswerBody {
    public let unknown: [String]?

    public init(unknown: [String]?) {
        self.unknown = unknown
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ForgottenAnswer {
        try fields.ok()
        unknown = try fields.optional(
            "unknown", \.unknown, "The channels or users of which nothing was stored. Absent: none.")
    }
}

/// Whether a channel would get the next push of a name.
public struct ExplanationAnswer: AnswerBody {
    public let name, channelID: String
    public let getsNextUpdate: Bool
    public let reasons: [ReasonAnswer]
    public let following: FollowingAnswer?
    public let lastPush: LedgerAnswer?

    public init(
        name: String, channelID: String, getsNextUpdate: Bool, reasons: [ReasonAnswer], following: FollowingAnswer?,
        lastPush: LedgerAnswer?
    ) {
        (self.name, self.channelID, self.getsNextUpdate, self.reasons) = (name, channelID, getsNextUpdate, reasons)
        (self.following, self.lastPush) = (following, lastPush)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ExplanationAnswer {
        try fields.ok()
        name = try fields("name", \.name, .name)
        channelID = try fields("channel_id", \.channelID, .channel)
        getsNextUpdate = try fields(
            "gets_next_update", \.getsNextUpdate, "An update for everyone, published now, would be sent to the channel."
        )
        reasons = try fields("reasons", \.reasons)
        following = try fields.nullable("following", \.following)
        lastPush = try fields.nullable("last_push", \.lastPush)
    }
}
