import APNsWire
import Answers
import LiveActivity
import Store
import StrictJSON

/// Pushes that wait for their time.
struct ScheduleCalls: CallGroup {
    /// The most schedules of one page of `GET /api/schedules`.
    private static let maximumSchedules = 100

    private let schedules: Schedules
    private let metrics: GatewayMetrics
    private let steps: PublishSteps
    private let proposals: Proposals

    init(_ parts: GatewayParts) {
        (schedules, metrics, steps) = (parts.store.schedules, parts.metrics, PublishSteps(parts))
        proposals = Proposals(parts)
    }

    /// Answers 201 only when Redis has every schedule. A repetition with the same Idempotency-Key gets the same ids.
    func create(_ call: Call) async throws -> Answer {
        let key = try call.idempotencyKey()
        let bodies = try ScheduleBody.parse(
            call.body.collect(), now: call.now, staleAfter: call.app.staleAfter, marks: call.app.takesReceipts)
        for body in bodies { try call.check(body.push.publish.name) }
        let warnings = try await steps.check(bodies.map(\.push), call)
        let ids = try await steps.ids(bodies.count, key, call)
        for (id, body) in zip(ids, bodies) {
            guard let past = body.past else { continue }
            // A repetition is allowed to come after the scheduled time.
            guard key != nil, try await schedules.find(call.app.key, id) != nil else { throw past }
        }
        try await steps.rememberTypes(bodies.map(\.push), call)
        let proposes = Proposals.areNeeded(bodies.map(\.push), call)
        let wanted = zip(ids, bodies).map { scheduled($0, $1, proposes: proposes, call) }
        guard let schedules = try await schedules.create(call.app.key, wanted) else {
            metrics.scheduled(call.app.key, outcome: "full", count: wanted.count)
            throw APIError.tooManySchedules
        }
        metrics.scheduled(call.app.key, outcome: proposes ? "proposed" : "created", count: schedules.count)
        return Answer(201, Self.answer(schedules, call), warnings: warnings).about(
            [
                .schedule: ids.first?.description,
                .name: schedules.count == 1 ? schedules[0].publish.name.rawValue : nil,
            ], as: proposes ? .propose : nil, count: ids.count)
    }

    /// Replaces a whole waiting schedule and keeps its id. As in Airship's API, a part of it cannot be replaced.
    func replace(_ call: Call) async throws -> Answer {
        let id = try call.id("schedule_id")
        let root = try JSONDocument(call.body.collect()).root
        let body = try ScheduleBody.scheduled(
            root, now: call.now, staleAfter: call.app.staleAfter, marks: call.app.takesReceipts)
        if let past = body.past { throw past }
        try call.check(body.push.publish.name)
        let warnings = try await steps.check([body.push], call)
        try await steps.rememberTypes([body.push], call)
        // An edit is a publish of whoever makes it: it withdraws an approval, and may need another one.
        let proposes = Proposals.areNeeded([body.push], call)
        switch try await schedules.replace(call.app.key, scheduled(id, body, proposes: proposes, call)) {
        case .replaced(let schedule):
            metrics.scheduled(call.app.key, outcome: "replaced", count: 1)
            return Answer(200, Self.answer([schedule], call), warnings: warnings)
                .about([.name: schedule.publish.name.rawValue], as: proposes ? .propose : nil)
        case .tooLate: throw APIError.scheduleOnItsWay(id)
        case .finished: throw APIError(409, "The schedule failed, or was deleted or rejected. Create another one.")
        case nil: throw APIError.noSuchSchedule
        }
    }

    private func scheduled(
        _ id: PushID, _ body: ScheduleBody.Scheduled, proposes: Bool, _ call: Call
    ) -> Schedule {
        let schedule = Schedule(
            id: id, publish: call.completed(body.push.publish), payload: body.push.payload(for: id),
            timestampOffset: Payload.timestampOffset, due: body.due, createdAt: call.now, label: body.label,
            posted: body.posted)
        return proposes ? proposals.request(schedule, wanted: body.due, call) : schedule
    }

    /// The waiting schedules, the earliest first; with `state=finished` those that are over, the latest first; with
    /// `state=awaiting_approval` those that wait for approval, the first to lapse first.
    func list(_ call: Call) async throws -> Answer {
        guard let wanted = Int(call.query["limit"] ?? "\(Self.maximumSchedules)"), wanted > 0 else {
            throw APIError.parameter(
                "limit", "must be a whole number of at least 1; pages have at most \(Self.maximumSchedules)")
        }
        let limit = min(wanted, Self.maximumSchedules)
        let start = try call.queriedID("start")
        let state = call.query["state"] ?? "scheduled"
        let (app, prefix) = (call.app.key, call.namePrefix)
        let page =
            switch state {
            case "scheduled": try await schedules.list(app, namesFrom: prefix, start: start, limit: limit)
            case "finished": try await schedules.finished(app, namesFrom: prefix, start: start, limit: limit)
            case Schedule.State.awaiting.rawValue:
                try await schedules.awaiting(app, namesFrom: prefix, start: start, limit: limit, now: call.now)
            default: throw APIError.parameter("state", "must be scheduled, awaiting_approval or finished")
            }
        let body = ScheduleListAnswer(
            count: page.schedules.count, totalCount: page.total,
            nextPage: page.next.map { next in
                call.page("/api/schedules", start: "\(next)", limit: limit)
                    + (state == "scheduled" ? "" : "&state=\(state)")
            },
            schedules: page.schedules.map { $0.answer(call) })
        return Answer(200, body)
    }

    func show(_ call: Call) async throws -> Answer {
        let id = try call.id("schedule_id")
        guard let schedule = try await schedules.find(call.app.key, id) else { throw APIError.noSuchSchedule }
        return Answer(200, schedule.answer(call))
    }

    func cancel(_ call: Call) async throws -> Answer {
        let id = try call.id("schedule_id")
        switch try await schedules.cancel(call.app.key, id, now: call.now) {
        case .cancelled:
            metrics.scheduled(call.app.key, outcome: "cancelled", count: 1)
            return .empty
        case .finished: return .empty
        case .tooLate: throw APIError.scheduleOnItsWay(id)
        case nil: throw APIError.noSuchSchedule
        }
    }

    private static func answer(_ schedules: [Schedule], _ call: Call) -> SchedulesAnswer {
        let answers = schedules.map { $0.answer(call) }
        return SchedulesAnswer(
            operationID: call.operation, scheduleURLs: answers.map(\.url),
            scheduleIDs: schedules.map(\.id.description), schedules: answers)
    }
}

extension APIError {
    static let beingCommitted = APIError(
        409, "A worker has taken up the push, and it may still go out: nothing was cancelled. Try again in 10 s.",
        retryAfter: 10)

    static func scheduleOnItsWay(_ id: PushID) -> APIError {
        APIError(409, "The schedule's time has come and its push is on its way: cancel it with DELETE /api/push/\(id).")
    }
}
