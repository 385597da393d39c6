public import LiveActivity

/// A named user, and its channels.
public struct UserAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let namedUserID: String
    public let channelCount: Int
    public let tags: [ExactText: [String]]
    public let channels: [ShownChannelAnswer]

    public init(namedUserID: String, channelCount: Int, tags: [ExactText: [String]], channels: [ShownChannelAnswer]) {
        (self.namedUserID, self.channelCount, self.tags, self.channels) = (namedUserID, channelCount, tags, channels)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == UserAnswer {
        namedUserID = try fields("named_user_id", \.namedUserID)
        channelCount = try fields("channel_count", \.channelCount)
        tags = try fields("tags", \.tags, "Those of its channels, by group.")
        channels = try fields("channels", \.channels, .list(atMost: 100))
    }
}

/// The answer about one named user.
public struct UserStoryAnswer: AnswerBody {
    public let namedUser: UserAnswer

    public init(namedUser: UserAnswer) {
        self.namedUser = namedUser
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == UserStoryAnswer {
        try fields.ok()
        namedUser = try fields("named_user", \.namedUser)
    }
}

/// A named user, in a list.
public struct ListedUserAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let namedUserID: String

    public init(namedUserID: String) {
        self.namedUserID = namedUserID
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ListedUserAnswer {
        namedUserID = try fields("named_user_id", \.namedUserID)
    }
}

/// A page of named users.
public struct UsersAnswer: AnswerBody {
    public let namedUsers: [ListedUserAnswer]
    public let nextPage: String?

    public init(namedUsers: [ListedUserAnswer], nextPage: String?) {
        (self.namedUsers, self.nextPage) = (namedUsers, nextPage)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == UsersAnswer {
        try fields.ok()
        namedUsers = try fields("named_users", \.namedUsers)
        nextPage = try fields.optional("next_page", \.nextPage)
    }
}
