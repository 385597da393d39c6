import Answers
public import LiveActivity
import StrictJSON

/// Something that Lamplighter tells others: a push is final, tokens were pruned, an alarm.
public struct OutgoingEvent: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The final states of a push.
        case done, failed, cancelled, expired, superseded
        /// Tokens of a final push were pruned.
        case pruned
        case alarmRaised = "alarm_raised"
        case alarmCleared = "alarm_cleared"
        /// An operator tries the way to the receivers.
        case test
    }

    /// The id of the event. It stays when the event is told again, so that readers can drop repetitions.
    public var id: String
    public var kind: Kind
    /// The event as JSON.
    public var text: String

    init(
        _ id: String, _ kind: Kind, _ app: AppKey, at: Int64, push: LedgerAnswer? = nil, alarm: Alarm? = nil,
        traceparent: String? = nil
    ) {
        self.id = id
        self.kind = kind
        let body = OutgoingEventAnswer(
            id: id, type: kind.rawValue, app: app.rawValue, at: TimeText.text(at), push: push, alarm: alarm?.answer,
            traceparent: traceparent)
        text = body.answerJSON.text
    }

    /// The events that tell the end of a push.
    /// - Parameter ledger: of the push, as it is now. It may have gone on since with late joiners.
    package static func of(_ end: Outbox.Entry, _ ledger: Ledger, _ app: AppKey) -> [OutgoingEvent] {
        guard let kind = Kind(rawValue: end.state.rawValue) else { return [] }
        var ledger = ledger
        (ledger.state, ledger.finishedAt) = (end.state, end.at)
        func event(_ suffix: String, _ kind: Kind) -> OutgoingEvent {
            OutgoingEvent(
                "\(end.push).\(end.number)\(suffix)", kind, app, at: end.at, push: ledger.answer,
                traceparent: ledger.traceparent)
        }
        return [event("", kind)] + (ledger.pruned > 0 ? [event(".pruned", .pruned)] : [])
    }

    static func raised(_ alarm: Alarm) -> OutgoingEvent {
        OutgoingEvent(
            "\(alarm.word).\(alarm.since).raised", .alarmRaised, alarm.app, at: alarm.since, alarm: alarm)
    }

    static func cleared(_ alarm: Alarm, at: Int64) -> OutgoingEvent {
        OutgoingEvent(
            "\(alarm.word).\(alarm.since).cleared", .alarmCleared, alarm.app, at: at, alarm: alarm)
    }

    public static func test(_ app: AppKey, at: Int64) -> OutgoingEvent {
        OutgoingEvent("test.\(PushID.random())", .test, app, at: at)
    }
}

extension Alarm {
    fileprivate var answer: EventAlarmAnswer {
        EventAlarmAnswer(
            kind: kind.rawValue, platform: platformName, reason: reason, since: TimeText.text(since))
    }
}
