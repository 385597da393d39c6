import Answers
import LiveActivity
import Store
import StrictJSON

/// The decision of a second person about a publish that waits for it.
struct ApprovalCalls: CallGroup {
    private let schedules: Schedules
    private let metrics: GatewayMetrics

    init(_ parts: GatewayParts) { (schedules, metrics) = (parts.store.schedules, parts.metrics) }

    /// `POST /api/schedules/{schedule_id}/approve`. The body names the request, so that nothing is approved that its
    /// person has not seen.
    func approve(_ call: Call) async throws -> Answer {
        guard let value = try call.object(known: ["request"])?["request"] else {
            throw APIError.request(400, "is required: the `approval.request` of the schedule as you have seen it")
        }
        return try await decide(approves: true, request: value.string(), call)
    }

    /// `POST /api/schedules/{schedule_id}/reject`.
    func reject(_ call: Call) async throws -> Answer {
        let body = try call.object(known: ["request", "reason"])
        let reason = try body?["reason"].map { value throws(JSONError) in
            try value.identifier { text throws(IdentifierError) in
                try checkText(text, what: "reason", maximumBytes: Approval.mostReason * 4)
                return text
            }
        }
        return try await decide(approves: false, request: body?["request"]?.string(), reason: reason, call)
    }

    private func decide(
        approves: Bool, request: String?, reason: String? = nil, _ call: Call
    ) async throws -> Answer {
        let (app, id) = (call.app.key, try call.id("schedule_id"))
        let result = try await schedules.decide(
            app, id, approves: approves, request: request, reason: reason, by: call.person, now: call.now)
        switch result {
        case .decided(let schedule):
            metrics.scheduled(app, outcome: approves ? "approved" : "rejected", count: 1)
            let asker = schedule.publish.publisher
            return Answer(200, schedule.answer(call)).about([
                .name: schedule.publish.name.rawValue, .askedBy: asker.map { Publisher.shown($0.credential, $0.who) },
                .reason: schedule.state == .rejected ? schedule.reason : nil,
            ])
        case .own:
            throw APIError(
                403,
                "This is your own request: another person with the scope approve decides about it. "
                    + "To withdraw it, delete the schedule.", code: 40306)
        case .changed:
            throw APIError.request(
                409, "is not the one that waits: the publish was changed. Read the schedule again, then decide")
        case .lapsed:
            throw APIError(409, "The request has lapsed, because nobody approved it in time. Publish it again.")
        case .settled(let schedule): throw APIError(409, "\(schedule.standing) Nothing was changed.")
        case nil: throw APIError.noSuchSchedule
        }
    }
}

extension APIError {
    fileprivate static func request(_ status: Int, _ problem: String) -> APIError {
        let details = Details(error: problem, path: "request", location: nil)
        return APIError(status, "request: \(problem).", details: details)
    }
}

extension Schedule {
    /// A sentence for somebody who wanted to decide about a schedule that waits no more.
    fileprivate var standing: String {
        let who = (approval?.decision?.by.publisher).map { person in
            person.who == nil
                ? "the credential '\(person.credential)'" : Publisher.shown(person.credential, person.who)
        }
        return switch state {
        case .rejected: "The request was rejected\(who.map { " by \($0)" } ?? "")."
        case .cancelled: "The schedule was deleted."
        case .failed where reason == Self.lapsed: "The request has lapsed."
        case .awaiting, .scheduled, .taken, .sent, .failed:
            who.map { "The request was approved by \($0)." } ?? "The schedule does not wait for approval."
        }
    }

    func answer(_ call: Call) -> ScheduleAnswer {
        let time = approval.map { $0.wanted ?? $0.decision?.at ?? $0.askedAt } ?? due
        return ScheduleAnswer(
            url: "\(call.origin)/api/schedules/\(id)",
            schedule: ScheduledTimeAnswer(scheduledTime: TimeText.plainText(time)), name: label,
            push: RawJSON(checked: posted), pushIDs: [id.description],
            state: state == .taken ? Schedule.State.scheduled.rawValue : state.rawValue, reason: reason,
            finishedAt: finishedAt.map(TimeText.text), approval: approval.map { answer($0) })
    }

    private func answer(_ approval: Approval) -> ApprovalAnswer {
        ApprovalAnswer(
            request: approval.request, atOnce: approval.wanted == nil ? true : nil,
            askedBy: publish.publisher.map(PublisherAnswer.init), askedAt: TimeText.text(approval.askedAt),
            lapsesAt: state == .awaiting ? TimeText.text(due) : nil,
            decidedBy: approval.decision.map { PublisherAnswer($0.by.publisher) },
            decidedAt: approval.decision.map { TimeText.text($0.at) })
    }
}
