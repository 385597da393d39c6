import Answers
import LiveActivity
import StrictJSON

/// The body of `POST /api/schedules`: one schedule or an array. Each push is checked as if published at its time.
enum ScheduleBody {
    /// The most milliseconds that a scheduled time may lie in the past, because clocks differ and requests are slow.
    static let grace: Int64 = 60_000
    /// The most bytes of the push object as posted, because the store keeps it and shows it.
    static let maximumPushBytes = 64 << 10

    struct Scheduled: Sendable {
        /// The scheduled time in epoch milliseconds.
        var due: Int64
        var label: String?
        var push: PublishBody.Push
        var posted: [UInt8]
        /// The error to return if the time is past and the request is not a repetition.
        var past: JSONError?
    }

    /// Reads the body. `now` is in epoch milliseconds.
    static func parse(
        _ bytes: [UInt8], now: Int64, _ reading: PublishBody.Reading = PublishBody.Reading()
    ) throws(JSONError) -> [Scheduled] {
        try JSONDocument(bytes).root.oneOrMore(atMost: PublishBody.maximumPushes, ("schedule", "schedules"))
            .map { value throws(JSONError) in try scheduled(value, now: now, reading) }
    }

    /// Reads one schedule object: the body of `PUT /api/schedules/{schedule_id}`, or an entry of the array.
    static func scheduled(
        _ value: JSONValue, now: Int64, _ reading: PublishBody.Reading
    ) throws(JSONError) -> Scheduled {
        guard value.kind == .object else { throw value.mismatch("a schedule object") }
        let body = try value.object(known: ["schedule", "push", "name"])
        let (due, past) = try time(try body.required("schedule"), now: now)
        let label = try body["name"]?.text("name")
        let push = try body.required("push")
        guard push.raw.count <= maximumPushBytes else {
            throw push.error("must be at most \(maximumPushBytes) bytes, not \(push.raw.count)")
        }
        var checked = try PublishBody.push(push, now: max(due, now) / 1_000, reading)
        // A date of the past means "at once". One between now and the scheduled time is a mistake.
        if checked.publish.event == .end, let date = checked.publish.dismissalDate,
            (now / 1_000..<max(due, now) / 1_000).contains(Int64(date))
        {
            checked.warnings.append(
                "dismissal_date is before the scheduled time: the card leaves the lock screen at the end itself")
        }
        return Scheduled(due: due, label: label, push: checked, posted: Array(push.raw), past: past)
    }

    private static func time(_ value: JSONValue, now: Int64) throws(JSONError) -> (due: Int64, past: JSONError?) {
        let schedule = try value.object()
        for key in ["local_scheduled_time", "best_time", "recurring"] {
            if let value = schedule[key] {
                throw value.keyError("is not supported: give the one moment in `scheduled_time`, in UTC")
            }
        }
        try schedule.refuseUnknownKeys(known: ["scheduled_time"])
        let time = try schedule.required("scheduled_time")
        guard let due = TimeText.parse(try time.string()) else {
            throw time.error("must be a time such as 2026-11-21T18:00:00 (UTC) or 2026-11-21T19:00:00+01:00")
        }
        guard due <= now + ScheduledTimeAnswer.horizon else { throw time.error("must not be more than 366 days ahead") }
        return (due, due >= now - grace ? nil : time.error("is in the past: it is \(TimeText.text(now)) now"))
    }
}
