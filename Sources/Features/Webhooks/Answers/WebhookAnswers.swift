public import LiveActivity

/// The failed attempts in a row of a webhook.
public struct WebhookFailureAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let since: String
    public let attempts: Int
    public let reason, nextAttemptAt: String

    public init(since: String, attempts: Int, reason: String, nextAttemptAt: String) {
        (self.since, self.attempts, self.reason, self.nextAttemptAt) = (since, attempts, reason, nextAttemptAt)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == WebhookFailureAnswer {
        since = try fields("since", \.since, .time)
        attempts = try fields("attempts", \.attempts)
        reason = try fields("reason", \.reason)
        nextAttemptAt = try fields("next_attempt_at", \.nextAttemptAt, .time)
    }
}

/// How the app's webhook does.
public struct WebhookAnswer: AnswerBody {
    public let events: [String]
    public let waiting, dead, dropped: Int
    public let failing: WebhookFailureAnswer?

    public init(events: [String], waiting: Int, dead: Int, dropped: Int, failing: WebhookFailureAnswer?) {
        (self.events, self.waiting, self.dead, self.dropped) = (events, waiting, dead, dropped)
        self.failing = failing
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == WebhookAnswer {
        try fields.ok()
        events = try fields("events", \.events, .list(.eventKind))
        waiting = try fields("waiting", \.waiting)
        dead = try fields("dead", \.dead)
        dropped = try fields("dropped", \.dropped)
        failing = try fields.nullable("failing", \.failing)
    }
}

/// An event that the webhook did not take.
public struct DeadEventAnswer: AnswerBody {
    public let entry, reason, addedAt: String
    public let event: RawJSON

    public init(entry: String, reason: String, addedAt: String, event: RawJSON) {
        (self.entry, self.reason, self.addedAt, self.event) = (entry, reason, addedAt, event)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DeadEventAnswer {
        entry = try fields("entry", \.entry)
        reason = try fields("reason", \.reason)
        addedAt = try fields("added_at", \.addedAt, .time)
        event = try fields("event", \.event, .named("OutgoingEvent"))
    }
}

/// A page of dead events, the latest first.
public struct DeadEventsAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let dead: [DeadEventAnswer]
    public let next: String?

    public init(dead: [DeadEventAnswer], next: String?) {
        (self.dead, self.next) = (dead, next)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DeadEventsAnswer {
        try fields.ok()
        dead = try fields("dead", \.dead)
        next = try fields.optional("next", \.next)
    }
}

/// How many dead events wait for the webhook again.
public struct RetriedEventsAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let retried: Int

    public init(retried: Int) {
        self.retried = retried
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == RetriedEventsAnswer {
        try fields.ok()
        retried = try fields("retried", \.retried)
    }
}

/// How many dead events were deleted.
public struct DiscardedEventsAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let discarded: Int

    public init(discarded: Int) {
        self.discarded = discarded
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == DiscardedEventsAnswer {
        try fields.ok()
        discarded = try fields("discarded", \.discarded)
    }
}
