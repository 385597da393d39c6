import LiveActivity

/// One entry of the log of actions.
public struct ActionAnswer: AnswerBody {
    public let id, at, action, credential, address: String
    public let who, whoID: String?
    public let operationID: String
    public let count: Int
    public let failed: Int?
    public let name, pushID, lastPushID, scheduleID, channel, attributesType, namedUser, credentialID, entry: String?
    public let reason: String?

    public init(
        id: String, at: String, action: String, credential: String, address: String, who: String?, whoID: String?,
        operationID: String, count: Int, failed: Int?, name: String?, pushID: String?, lastPushID: String?,
        scheduleID: String?,
        channel: String?,
        attributesType: String?, namedUser: String?, credentialID: String?, entry: String?, reason: String?
    ) {
        (self.id, self.at, self.action, self.credential) = (id, at, action, credential)
        (self.address, self.who, self.whoID, self.operationID) = (address, who, whoID, operationID)
        (self.count, self.failed) = (count, failed)
        (self.name, self.pushID, self.lastPushID, self.scheduleID) = (name, pushID, lastPushID, scheduleID)
        (self.channel, self.attributesType) = (channel, attributesType)
        (self.namedUser, self.credentialID) = (namedUser, credentialID)
        (self.entry, self.reason) = (entry, reason)
    }

    /// The caller, for people.
    public var caller: String { Publisher.shown(credential, who) }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ActionAnswer {
        id = try fields("id", \.id)
        at = try fields("at", \.at, .time)
        action = try fields("action", \.action, .named("ActionKind"))
        credential = try fields("credential", \.credential)
        address = try fields("address", \.address)
        who = try fields.optional(
            "who", \.who, "The person, if the console knows: one who signed in through a provider.")
        whoID = try fields.optional("who_id", \.whoID, PublisherAnswer.aboutWhoID)
        operationID = try fields("operation_id", \.operationID, "Of the request; of several, of the last one.")
        count = try fields("count", \.count, "How many pushes, tokens or channels it was about.")
        failed = try fields.optional(
            "failed", \.failed, "The status of a call that failed and did a part, or may have. Absent: it did all.")
        name = try fields.optional("name", \.name)
        pushID = try fields.optional("push_id", \.pushID)
        lastPushID = try fields.optional("last_push_id", \.lastPushID)
        scheduleID = try fields.optional("schedule_id", \.scheduleID)
        channel = try fields.optional("channel", \.channel)
        attributesType = try fields.optional("attributes_type", \.attributesType)
        namedUser = try fields.optional("named_user", \.namedUser)
        credentialID = try fields.optional("credential_id", \.credentialID)
        entry = try fields.optional("entry", \.entry)
        reason = try fields.optional("reason", \.reason, "Why, as the caller gave it.")
    }
}

/// A page of the log of actions, newest first.
public struct ActionsAnswer: AnswerBody {
    public let actions: [ActionAnswer]
    public let next: String?

    public init(actions: [ActionAnswer], next: String?) {
        (self.actions, self.next) = (actions, next)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ActionsAnswer {
        try fields.ok()
        actions = try fields("actions", \.actions)
        next = try fields.optional("next", \.next)
    }
}
