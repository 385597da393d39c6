import APNsWire
import HTTPTypes
import LiveActivity
import OpenSSL
import Store
import StrictJSON

extension Handlers {
    /// The most schedules of one page of `GET /api/schedules`.
    static let maximumSchedules = 100

    /// Answers 201 only when Redis has every schedule of the body. A repetition
    /// with the same Idempotency-Key gets the same ids.
    func createSchedules(_ call: Call) async throws(APIError) -> Answer {
        let key = try idempotencyKey(call)
        let bytes = call.body.collect()
        let bodies = try ScheduleBody.parse(bytes, now: call.now, staleAfter: call.app.staleAfter)
        let warnings =
            bodies.flatMap(\.push.warnings) + (try await checkShapes(bodies.map(\.push), call))
            + (try await checkSizes(bodies.map(\.push), call))
        var ids = bodies.map { _ in PushID.random() }
        if let key {
            let digest = Array(SHA256Digest(of: bytes))
            let fresh = ids
            let reserved = try await storing { () throws(StoreError) in
                try await store.pushes.reserve(call.app.key, idempotencyKey: key, bodyDigest: digest, ids: fresh)
            }
            guard let reserved, reserved.count == bodies.count else { throw .idempotencyConflict }
            ids = reserved
        }
        for (id, body) in zip(ids, bodies) {
            guard let past = body.past else { continue }
            // A repetition is allowed to come after the scheduled time.
            let known = try await storing { () throws(StoreError) in
                try await store.schedules.find(call.app.key, id) != nil
            }
            guard key != nil, known else { throw APIError(past) }
        }
        try await rememberTypes(bodies.map(\.push), call)
        let schedules = zip(ids, bodies).map { id, body in
            Schedule(
                id: id, publish: lasting(body.push.publish, call), payload: body.push.payload,
                timestampOffset: Payload.timestampOffset, due: body.due, createdAt: call.now, label: body.label,
                posted: body.posted)
        }
        let hasRoom = try await storing { () throws(StoreError) in
            try await store.schedules.create(call.app.key, schedules)
        }
        guard hasRoom else {
            metrics.scheduled(call.app.key, outcome: "full", count: schedules.count)
            throw APIError(429, "Too many schedules wait: none was accepted. Try again in 60 s.", retryAfter: 60)
        }
        metrics.scheduled(call.app.key, outcome: "created", count: schedules.count)
        return Answer(201, Self.json(schedules, call), warnings: warnings, type: Answer.airshipType)
    }

    /// Replaces a whole waiting schedule and keeps its id. As in Airship's API, a part of it cannot be replaced.
    func replaceSchedule(_ call: Call) async throws(APIError) -> Answer {
        let id = try scheduleID(call)
        let body = try ScheduleBody.parseOne(
            call.body.collect(), now: call.now, staleAfter: call.app.staleAfter)
        if let past = body.past { throw APIError(past) }
        let warnings =
            body.push.warnings + (try await checkShapes([body.push], call)) + (try await checkSizes([body.push], call))
        try await rememberTypes([body.push], call)
        let replacement = try await storing { () throws(StoreError) in
            try await store.schedules.replace(
                call.app.key,
                Schedule(
                    id: id, publish: lasting(body.push.publish, call), payload: body.push.payload,
                    timestampOffset: Payload.timestampOffset, due: body.due, createdAt: call.now, label: body.label,
                    posted: body.posted))
        }
        switch replacement {
        case .replaced(let schedule):
            metrics.scheduled(call.app.key, outcome: "replaced", count: 1)
            return Answer(200, Self.json([schedule], call), warnings: warnings, type: Answer.airshipType)
        case .tooLate: throw .scheduleOnItsWay(id)
        case .finished: throw APIError(409, "The schedule has failed or was deleted: create another one.")
        case nil: throw .noSuchSchedule
        }
    }

    /// Adds the life that the app sets for this event. It counts from the push's acceptance.
    func lasting(_ publish: Publish, _ call: Call) -> Publish {
        var publish = publish
        publish.life = call.app.lives[publish.event]
        return publish
    }

    /// The waiting schedules, the earliest first.
    func listSchedules(_ call: Call) async throws(APIError) -> Answer {
        var limit = Self.maximumSchedules
        if let text = call.query["limit"] {
            guard let number = Int(text), number > 0 else {
                throw .parameter("limit", "must be a whole number of at least 1; pages have at most \(limit)")
            }
            limit = min(number, limit)
        }
        var start: PushID?
        if let text = call.query["start"] {
            guard let id = PushID(text) else { throw .parameter("start", "must be a schedule's id") }
            start = id
        }
        let (first, wanted) = (start, limit)
        let page = try await storing { () throws(StoreError) in
            try await store.schedules.list(call.app.key, start: first, limit: wanted)
        }
        var body: JSON = [
            "ok": true, "count": .integer(page.schedules.count), "total_count": .integer(page.total),
        ]
        if let next = page.next {
            body.append("next_page", .string("\(call.origin)/api/schedules?start=\(next)&limit=\(limit)"))
        }
        body.append("schedules", .array(page.schedules.map { Self.json($0, call) }))
        return Answer(200, body, type: Answer.airshipType)
    }

    func schedule(_ call: Call) async throws(APIError) -> Answer {
        let id = try scheduleID(call)
        let schedule = try await storing { () throws(StoreError) in
            try await store.schedules.find(call.app.key, id)
        }
        guard let schedule else { throw .noSuchSchedule }
        return Answer(200, Self.json(schedule, call), type: Answer.airshipType)
    }

    func cancelSchedule(_ call: Call) async throws(APIError) -> Answer {
        let id = try scheduleID(call)
        let cancellation = try await storing { () throws(StoreError) in
            try await store.schedules.cancel(call.app.key, id, now: call.now)
        }
        switch cancellation {
        case .cancelled:
            metrics.scheduled(call.app.key, outcome: "cancelled", count: 1)
            return .empty
        case .finished: return .empty
        case .tooLate:
            throw .scheduleOnItsWay(id)
        case nil: throw .noSuchSchedule
        }
    }

    /// The ledger of a push, whether it waits for its time or was committed.
    func ledger(_ app: AppKey, _ id: PushID) async throws(StoreError) -> Ledger? {
        if let ledger = try await store.pushes.ledger(app, id) { return ledger }
        guard let schedule = try await store.schedules.find(app, id) else { return nil }
        if let ledger = schedule.ledger { return ledger }
        // The push was committed between the two lookups.
        return try await store.pushes.ledger(app, id)
    }

    /// Cancels a push, whether it waits for its time or was committed, and returns its ledger.
    func cancelled(_ app: AppKey, _ id: PushID, now: Int64) async throws(StoreError) -> Ledger? {
        if let ledger = try await store.pushes.cancel(app, id, now: now) { return ledger }
        guard let cancellation = try await store.schedules.cancel(app, id, now: now) else { return nil }
        if cancellation == .tooLate, let ledger = try await store.pushes.cancel(app, id, now: now) { return ledger }
        return try await ledger(app, id)
    }

    private func scheduleID(_ call: Call) throws(APIError) -> PushID {
        guard let id = PushID(call.parameter("schedule_id")) else { throw .parameter("schedule_id", "must be a UUID") }
        return id
    }

    private static func url(_ id: PushID, _ call: Call) -> String { "\(call.origin)/api/schedules/\(id)" }

    private static func json(_ schedules: [Schedule], _ call: Call) -> JSON {
        [
            "ok": true, "operation_id": .string(call.operation),
            "schedule_urls": .array(schedules.map { .string(url($0.id, call)) }),
            "schedule_ids": .array(schedules.map { .string($0.id.description) }),
            "schedules": .array(schedules.map { json($0, call) }),
        ]
    }

    private static func json(_ schedule: Schedule, _ call: Call) -> JSON {
        var body: JSON = [
            "url": .string(url(schedule.id, call)),
            "schedule": ["scheduled_time": .string(TimeText.plainText(schedule.due))],
        ]
        if let label = schedule.label { body.append("name", .string(label)) }
        body.append("push", .raw(schedule.posted))
        body.append("push_ids", [.string(schedule.id.description)])
        body.append("state", .string(schedule.state == .taken ? "scheduled" : schedule.state.rawValue))
        if let reason = schedule.reason { body.append("reason", .string(reason)) }
        return body
    }
}

extension APIError {
    static let noSuchSchedule = APIError(
        404, "This app has no schedule of that id, or its record has expired.", code: 40401)

    static func scheduleOnItsWay(_ id: PushID) -> APIError {
        APIError(
            409, "The schedule's time has come and its push is on its way: cancel it with DELETE /api/push/\(id).")
    }
}
