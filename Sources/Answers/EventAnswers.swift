/// The alarm that an outgoing event tells of.
public struct EventAlarmAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let kind: String
    public let platform: String?
    public let reason, since: String

    public init(kind: String, platform: String?, reason: String, since: String) {
        (self.kind, self.platform, self.reason, self.since) = (kind, platform, reason, since)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == EventAlarmAnswer {
        kind = try fields("kind", \.kind)
        platform = try fields.optional("platform", \.platform, "Absent: ios, or the alarm concerns no platform.")
        reason = try fields("reason", \.reason)
        since = try fields("since", \.since, .time)
    }
}

/// An outgoing event, as the stream of events and other receivers get it.
public struct OutgoingEventAnswer: AnswerBody {
    public let id, type, app, at: String
    public let push: LedgerAnswer?
    public let alarm: EventAlarmAnswer?
    public let traceparent: String?

    public init(
        id: String, type: String, app: String, at: String, push: LedgerAnswer?, alarm: EventAlarmAnswer?,
        traceparent: String? = nil
    ) {
        (self.id, self.type, self.app, self.at) = (id, type, app, at)
        (self.push, self.alarm, self.traceparent) = (push, alarm, traceparent)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == OutgoingEventAnswer {
        id = try fields("id", \.id)
        type = try fields("type", \.type, .eventKind)
        app = try fields("app", \.app)
        at = try fields("at", \.at, .time)
        push = try fields.optional("push", \.push)
        alarm = try fields.optional("alarm", \.alarm)
        traceparent = try fields.optional("traceparent", \.traceparent)
    }
}
