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
    private let parts: GatewayParts

    init(_ parts: GatewayParts) {
        (schedules, metrics, steps) = (parts.store.schedules, parts.metrics, PublishSteps(parts))
        self.parts = parts
    }

    /// Answers 201 only when Redis has every schedule. A repetition with the same Idempotency-Key gets the same ids.
    func create(_ call: Call) async throws -> Answer {
        let key = try call.idempotencyKey()
        let bodies = try ScheduleBody.parse(
            call.body.collect(), now: call.now, call.app.reading)
        for body in bodies { try call.check(body.push.publish.name) }
        let warnings = try await steps.check(bodies.map(\.push), call)
        let (ids, _) = try await steps.ids(bodies.count, key, call)
        let pushes = bodies.map(\.push)
        let attempt = PublishAttempt(
            kind: .schedule, ids: ids, pushes: pushes, times: bodies.map { $0.due },
            past: bodies.lazy.compactMap(\.past).first)
        if let holding = try await parts.hold(attempt, call) {
            let body = SchedulesAnswer(
                operationID: call.operation, scheduleURLs: [], scheduleIDs: ids.map(\.description), schedules: [],
                held: holding.held, heldID: holding.id?.description)
            return Answer(201, body, warnings: warnings)
                .about(holding.subjects, as: holding.gate.action, count: ids.count)
        }
        for (id, body) in zip(ids, bodies) {
            guard let past = body.past else { continue }
            // A repetition is allowed to come after the scheduled time.
            guard key != nil, try await schedules.find(call.app.key, id) != nil else { throw past }
        }
        let made = try await commit(bodies, ids, call)
        return Answer(201, Self.answer(made, call), warnings: warnings).about(
            [
                .schedule: ids.first?.description,
                .name: made.count == 1 ? made[0].publish.name.rawValue : nil,
            ], count: ids.count)
    }

    /// Keeps checked schedules under these ids. Repeatable.
    func commit(_ bodies: [ScheduleBody.Scheduled], _ ids: [PushID], _ call: Call) async throws -> [Schedule] {
        try await steps.rememberTypes(bodies.map(\.push), call)
        let wanted = zip(ids, bodies).map { scheduled($0, $1, call) }
        guard let made = try await schedules.create(call.app.key, wanted) else {
            metrics.scheduled(call.app.key, outcome: "full", count: wanted.count)
            throw APIError.tooManySchedules
        }
        metrics.scheduled(call.app.key, outcome: "created", count: made.count)
        return made
    }

    /// Replaces a whole waiting schedule and keeps its id. As in Airship's API, a part of it cannot be replaced.
    func replace(_ call: Call) async throws -> Answer {
        let id = try call.id("schedule_id")
        let root = try JSONDocument(call.body.collect()).root
        let body = try ScheduleBody.scheduled(
            root, now: call.now, call.app.reading)
        if let past = body.past { throw past }
        try call.check(body.push.publish.name)
        let warnings = try await steps.check([body.push], call)
        let attempt = PublishAttempt(kind: .replacement, ids: [id], pushes: [body.push], times: [body.due])
        if let holding = try await parts.hold(attempt, call) {
            let answer = SchedulesAnswer(
                operationID: call.operation, scheduleURLs: [], scheduleIDs: [id.description], schedules: [],
                held: holding.held, heldID: holding.id?.description)
            return Answer(200, answer, warnings: warnings)
                .about(
                    holding.subjects.merging([.name: body.push.publish.name.rawValue]) { $1 }, as: holding.gate.action)
        }
        let schedule = try await commit(replacing: id, by: body, call)
        return Answer(200, Self.answer([schedule], call), warnings: warnings)
            .about([.name: schedule.publish.name.rawValue])
    }

    /// Puts a checked publish into a schedule. Repeatable.
    func commit(replacing id: PushID, by body: ScheduleBody.Scheduled, _ call: Call) async throws -> Schedule {
        try await steps.rememberTypes([body.push], call)
        switch try await schedules.replace(call.app.key, scheduled(id, body, call)) {
        case .replaced(let schedule):
            metrics.scheduled(call.app.key, outcome: "replaced", count: 1)
            return schedule
        case .tooLate: throw APIError.scheduleOnItsWay(id)
        case .finished: throw APIError(409, "The schedule failed, or was deleted. Create another one.")
        case nil: throw APIError.noSuchSchedule
        }
    }

    private func scheduled(_ id: PushID, _ body: ScheduleBody.Scheduled, _ call: Call) -> Schedule {
        Schedule(
            id: id, publish: call.completed(body.push.publish), payload: body.push.payload(for: id),
            timestampOffset: Payload.timestampOffset, due: body.due, createdAt: call.now, label: body.label,
            posted: body.posted)
    }

    /// The waiting schedules, the earliest first, or with `state=finished` the finished ones, the latest first. With
    /// `state=failed`, only those that were refused at their time.
    func list(_ call: Call) async throws -> Answer {
        guard let wanted = Int(call.query["limit"] ?? "\(Self.maximumSchedules)"), wanted > 0 else {
            throw APIError.parameter(
                "limit", "must be a whole number of at least 1; pages have at most \(Self.maximumSchedules)")
        }
        let limit = min(wanted, Self.maximumSchedules)
        let start = try call.queriedID("start")
        let (app, prefix) = (call.app.key, call.namePrefix)
        guard let listed = ListedSchedules(rawValue: call.query["state"] ?? "scheduled") else {
            throw APIError.parameter("state", "must be scheduled, finished or failed")
        }
        if let name = try call.queriedName() {
            let found = try await schedules.list(app, of: name, listed, limit: limit)
            let body = ScheduleListAnswer(
                count: found.count, totalCount: found.count, nextPage: nil, schedules: found.map { $0.answer(call) })
            return Answer(200, body)
        }
        let page =
            listed == .scheduled
            ? try await schedules.list(app, namesFrom: prefix, start: start, limit: limit)
            : try await schedules.finished(app, listed, namesFrom: prefix, start: start, limit: limit)
        let body = ScheduleListAnswer(
            count: page.schedules.count, totalCount: page.total,
            nextPage: page.next.map { next in
                call.page("/api/schedules", start: "\(next)", limit: limit)
                    + (listed == .scheduled ? "" : "&state=\(listed.rawValue)")
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

extension Schedule {
    func answer(_ call: Call) -> ScheduleAnswer {
        ScheduleAnswer(
            url: "\(call.origin)/api/schedules/\(id)",
            schedule: ScheduledTimeAnswer(scheduledTime: TimeText.plainText(due)), name: label,
            push: RawJSON(checked: posted), pushIDs: [id.description],
            state: state == .taken ? Schedule.State.scheduled.rawValue : state.rawValue, reason: reason,
            finishedAt: finishedAt.map(TimeText.text), by: publish.publisher.map(PublisherAnswer.init))
    }
}

extension APIError {
    static let tooManySchedules = APIError(
        429, "The app has too many waiting schedules: none was accepted. Try again in 60 s.", retryAfter: 60)
    static let beingCommitted = APIError(
        409, "A worker has taken up the push, and it may still go out: nothing was cancelled. Try again in 10 s.",
        retryAfter: 10)

    static func scheduleOnItsWay(_ id: PushID) -> APIError {
        APIError(409, "The schedule's time has come and its push is on its way: cancel it with DELETE /api/push/\(id).")
    }
}
