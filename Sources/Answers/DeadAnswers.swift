/// The channels that a push gave up, kept for a retry.
public struct DeadLetterAnswer: AnswerBody {
    public let pushID, name, at: String
    public let stopped: String?
    public let tokens, kept, notKept: Int
    public let reasons: [String: Int]

    public init(
        pushID: String, name: String, at: String, stopped: String?, tokens: Int, kept: Int, notKept: Int,
        reasons: [String: Int]
    ) {
        (self.pushID, self.name, self.at, self.stopped) = (pushID, name, at, stopped)
        (self.tokens, self.kept, self.notKept, self.reasons) = (tokens, kept, notKept, reasons)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DeadLetterAnswer {
        pushID = try fields("push_id", \.pushID, .pushID)
        name = try fields("name", \.name, .name)
        at = try fields("at", \.at, .time)
        stopped = try fields.nullable("stopped", \.stopped)
        tokens = try fields("tokens", \.tokens)
        kept = try fields("kept", \.kept)
        notKept = try fields("not_kept", \.notKept, or: 0)
        reasons = try fields("reasons", \.reasons)
    }
}

/// A page of dead letters, the latest first.
public struct DeadLettersAnswer: AnswerBody {
    public let total: Int
    public let dead: [DeadLetterAnswer]
    public let next: String?

    public init(total: Int, dead: [DeadLetterAnswer], next: String?) {
        (self.total, self.dead, self.next) = (total, dead, next)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DeadLettersAnswer {
        try fields.ok()
        total = try fields("total", \.total)
        dead = try fields("dead", \.dead)
        next = try fields.optional("next", \.next)
    }
}

/// How many tokens of a dead letter are tried again.
public struct RetriedAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let retried: Int
    public let resumed: Bool

    public init(retried: Int, resumed: Bool) {
        (self.retried, self.resumed) = (retried, resumed)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == RetriedAnswer {
        try fields.ok()
        retried = try fields("retried", \.retried)
        resumed = try fields("resumed", \.resumed)
    }
}
