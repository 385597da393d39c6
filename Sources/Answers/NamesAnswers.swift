public import LiveActivity

/// The state of a broadcast channel.
public struct BroadcastChannelAnswer: AnswerBody {
    public let state, storage: String
    public let channel, createdAt, deleteAt, error: String?

    public init(
        state: String, storage: String, channel: String?, createdAt: String?, deleteAt: String?, error: String?
    ) {
        (self.state, self.storage, self.channel, self.createdAt) = (state, storage, channel, createdAt)
        (self.deleteAt, self.error) = (deleteAt, error)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == BroadcastChannelAnswer {
        state = try fields("state", \.state, .words(["wanted", "live", "deleting"]))
        storage = try fields("storage", \.storage, .words(["none", "newest"]))
        channel = try fields.nullable("channel", \.channel)
        createdAt = try fields.nullable("created_at", \.createdAt, .time)
        deleteAt = try fields.optional("delete_at", \.deleteAt, .time)
        error = try fields.optional("error", \.error)
    }
}

/// The content state that the cards of a name show.
public struct LastContentStateAnswer: AnswerBody {
    public let pushID, event, acceptedAt: String
    public let audience, contentState: RawJSON
    public let deviceTypes: [String]?

    public init(
        pushID: String, event: String, acceptedAt: String, audience: RawJSON, deviceTypes: [String]?,
        contentState: RawJSON
    ) {
        (self.pushID, self.event, self.acceptedAt, self.audience) = (pushID, event, acceptedAt, audience)
        (self.deviceTypes, self.contentState) = (deviceTypes, contentState)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == LastContentStateAnswer {
        pushID = try fields("push_id", \.pushID, .pushID)
        event = try fields("event", \.event, .event)
        acceptedAt = try fields("accepted_at", \.acceptedAt, .time)
        audience = try fields("audience", \.audience, .named("Selector"))
        deviceTypes = try fields.optional("device_types", \.deviceTypes, .deviceTypes)
        contentState = try fields("content_state", \.contentState)
    }
}

/// The newest push of a name that counts. `options.after` has to name it.
public struct NewestPushAnswer: AnswerBody {
    public static var about: String? {
        "The newest push that was not cancelled, refused or expired before it reached anybody, and is no test."
    }
    public let pushID, event, state, acceptedAt: String
    public let audience: RawJSON
    public let deviceTypes: [String]?
    public let by: PublisherAnswer?

    public init(
        pushID: String, event: String, state: String, acceptedAt: String, audience: RawJSON, deviceTypes: [String]?,
        by: PublisherAnswer?
    ) {
        (self.pushID, self.event, self.state, self.acceptedAt) = (pushID, event, state, acceptedAt)
        (self.audience, self.deviceTypes, self.by) = (audience, deviceTypes, by)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == NewestPushAnswer {
        pushID = try fields("push_id", \.pushID, .pushID)
        event = try fields("event", \.event, .event)
        state = try fields("state", \.state, .pushState)
        acceptedAt = try fields("accepted_at", \.acceptedAt, .time)
        audience = try fields("audience", \.audience, .named("Selector"))
        deviceTypes = try fields.optional("device_types", \.deviceTypes, .deviceTypes)
        by = try fields.optional("by", \.by)
    }
}

/// A name: its followers, its last push, its broadcast channel.
public struct ActivityAnswer: AnswerBody {
    public let name: String
    public let tokens, shards: Int
    public let lastPushID: String?
    public let ended: Bool
    public let broadcast: BroadcastChannelAnswer?
    public let automaticEndAt, attributesType: String?
    public let newestPush: NewestPushAnswer?
    public let lastContentState: LastContentStateAnswer?

    public init(
        name: String, tokens: Int, shards: Int, lastPushID: String?, ended: Bool, broadcast: BroadcastChannelAnswer?,
        automaticEndAt: String?, attributesType: String?, newestPush: NewestPushAnswer? = nil,
        lastContentState: LastContentStateAnswer?
    ) {
        (self.name, self.tokens, self.shards, self.lastPushID) = (name, tokens, shards, lastPushID)
        (self.ended, self.broadcast) = (ended, broadcast)
        (self.automaticEndAt, self.attributesType) = (automaticEndAt, attributesType)
        (self.newestPush, self.lastContentState) = (newestPush, lastContentState)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ActivityAnswer {
        name = try fields("name", \.name, .name)
        tokens = try fields("tokens", \.tokens)
        shards = try fields("shards", \.shards)
        lastPushID = try fields.nullable("last_push_id", \.lastPushID, .pushID)
        ended = try fields("ended", \.ended)
        broadcast = try fields.nullable("broadcast", \.broadcast)
        automaticEndAt = try fields.optional("automatic_end_at", \.automaticEndAt, .time)
        attributesType = try fields.optional("attributes_type", \.attributesType)
        newestPush = try fields.nullable("newest_push", \.newestPush)
        lastContentState = try fields.nullable("last_content_state", \.lastContentState)
    }
}

/// A name, in a list.
public struct ListedNameAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let name: String
    public let followers: Int
    public let ended: Bool
    public let lastPushID, lastPushAt: String?

    public init(name: String, followers: Int, ended: Bool, lastPushID: String?, lastPushAt: String?) {
        (self.name, self.followers, self.ended, self.lastPushID) = (name, followers, ended, lastPushID)
        self.lastPushAt = lastPushAt
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ListedNameAnswer {
        name = try fields("name", \.name, .name)
        followers = try fields("followers", \.followers, "About how many channels follow.")
        ended = try fields("ended", \.ended)
        lastPushID = try fields.optional("last_push_id", \.lastPushID, .pushID)
        lastPushAt = try fields.optional("last_push_at", \.lastPushAt, .time)
    }
}

/// A page of names.
public struct ActivitiesAnswer: AnswerBody {
    public let activities: [ListedNameAnswer]
    public let next: String?

    public init(activities: [ListedNameAnswer], next: String?) {
        (self.activities, self.next) = (activities, next)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ActivitiesAnswer {
        try fields.ok()
        activities = try fields("activities", \.activities)
        next = try fields.optional("next", \.next)
    }
}

/// How many start tokens an attributes type has.
public struct StartTokensAnswer: AnswerBody {
    public let attributesType: String
    public let tokens, stale, shards: Int

    public init(attributesType: String, tokens: Int, stale: Int, shards: Int) {
        (self.attributesType, self.tokens, self.stale, self.shards) = (attributesType, tokens, stale, shards)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == StartTokensAnswer {
        attributesType = try fields("attributes_type", \.attributesType)
        tokens = try fields("tokens", \.tokens)
        stale = try fields("stale", \.stale)
        shards = try fields("shards", \.shards)
    }
}

/// The broadcast channel of a name.
public struct BroadcastAnswer: AnswerBody {
    public static var schemaName: String? { "BroadcastAnswer" }
    public let name: String
    public let broadcast: BroadcastChannelAnswer

    public init(name: String, broadcast: BroadcastChannelAnswer) {
        (self.name, self.broadcast) = (name, broadcast)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == BroadcastAnswer {
        try fields.ok()
        name = try fields("name", \.name, .name)
        broadcast = try fields("broadcast", \.broadcast)
    }
}

/// A broadcast channel, in a list.
public struct ListedBroadcastAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let name, channel: String

    public init(name: String, channel: String) {
        (self.name, self.channel) = (name, channel)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ListedBroadcastAnswer {
        name = try fields("name", \.name, .name)
        channel = try fields("channel", \.channel)
    }
}

/// A page of broadcast channels, and how many the app has.
public struct BroadcastsAnswer: AnswerBody {
    public let channels, foreign, limit: Int
    public let broadcasts: [ListedBroadcastAnswer]
    public let next: String?

    public init(channels: Int, foreign: Int, limit: Int, broadcasts: [ListedBroadcastAnswer], next: String?) {
        (self.channels, self.foreign, self.limit, self.broadcasts) = (channels, foreign, limit, broadcasts)
        self.next = next
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == BroadcastsAnswer {
        try fields.ok()
        channels = try fields("channels", \.channels)
        foreign = try fields("foreign", \.foreign)
        limit = try fields("limit", \.limit)
        broadcasts = try fields("broadcasts", \.broadcasts)
        next = try fields.optional("next", \.next)
    }
}
