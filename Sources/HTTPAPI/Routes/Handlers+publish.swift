import APNsWire
import Answers
import HTTPTypes
import LiveActivity
import OpenSSL
import Store
import StrictJSON

extension Handlers {
    /// `POST /api/push`: answers 202 only when Redis has every push of the body. After kill -9 between two pushes of an
    /// array, a repetition with the same Idempotency-Key completes the array under the same ids.
    func publish(_ call: Call) async throws -> Answer {
        let key = try idempotencyKey(call)
        let bytes = call.body.collect()
        let pushes = try PublishBody.parse(
            bytes, now: call.now, staleAfter: call.app.staleAfter, marks: call.app.takesReceipts)
        for push in pushes { try call.check(push.publish.name) }
        let warnings = try await check(pushes, call) + budgetWarnings(pushes, call)
        let ids = try await self.ids(pushes.count, key, bytes, call)
        try await rememberTypes(pushes, call)
        for (position, push) in pushes.enumerated() {
            try await accept(push, ids: ids, isRepeatable: key != nil, position: position, call)
        }
        // The commits have noted which names are followed, so usually nothing is asked here.
        let hints = await self.hints(self.unfollowed(pushes, call), call)
        let body = AcceptedAnswer(
            operationID: call.operation, pushIDs: ids.map(\.description), messageIDs: [], contentURLs: [])
        let names = Set(pushes.map(\.publish.name))
        var answer = Answer(202, body, warnings: warnings, hints: hints).about(
            [.name: names.count == 1 ? names.first?.rawValue : nil, .push: ids.first?.description], count: ids.count)
        answer.pushes = ids.map(\.description)
        return answer
    }

    /// Warns of updates that will go out at priority 5: an estimate, as a worker counts when it begins the push.
    private func budgetWarnings(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        guard configuration.budget.perHour > 0 else { return [] }
        var warnings: [String] = []
        for (position, push) in pushes.enumerated() where push.publish.isDemotable {
            let isSpent = try await store.pushes.isHighSpent(
                call.app.key, push.publish.name, configuration.budget, now: call.now)
            guard isSpent else { continue }
            let place = pushes.count > 1 ? "[\(position)]: " : ""
            let spent = "the name has used its \(configuration.budget.perHour) updates at priority 10 for this hour"
            warnings.append("\(place)goes out at priority 5: \(spent) (budget.high_per_hour)")
        }
        return warnings
    }

    /// A dry run: the same checks, and whom each push would reach. Nothing is written.
    func validate(_ call: Call) async throws -> Answer {
        let pushes = try PublishBody.parse(
            call.body.collect(), now: call.now, staleAfter: call.app.staleAfter, marks: call.app.takesReceipts)
        for push in pushes { try call.check(push.publish.name) }
        async let unfollowed = self.unfollowed(pushes, call)
        let warnings =
            try await pushes.flatMap(\.warnings) + checkSchemasIfPossible(pushes, call) + checkSizes(pushes, call)
        let previews = try await self.previews(pushes, counts: call.flag("reach") ?? true, call)
        let hints = await self.hints(unfollowed, call)
        return Answer(200, DryRunAnswer(pushes: previews), warnings: warnings, hints: hints)
    }

    /// Accepts 4,097 to 5,120 bytes only for a name with a broadcast channel, and warns that they go only there.
    func checkSizes(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        var warnings: [String] = []
        for push in pushes {
            guard let oversize = push.oversize else { continue }
            let channel = try await store.broadcasts.channel(call.app.key, push.publish.name)
            guard let channel, channel.state != .deleting else { throw oversize }
            let tokens = try await store.names.info(call.app.key, push.publish.name)?.tokens ?? 0
            warnings.append(
                "\(oversize.path): the payload is over \(Payload.maximumBytes) bytes: it goes to the broadcast channel alone"
                    + (tokens > 0 ? ", and the tokens that follow the name fail with PayloadTooLarge" : ""))
        }
        return warnings
    }

    /// Checks pushes against schemas and broadcast channels, and returns the warnings of all checks.
    func check(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        try await pushes.flatMap(\.warnings) + checkSchemas(pushes, call) + checkSizes(pushes, call)
    }

    /// New ids, or those that an earlier request with the same Idempotency-Key got.
    func ids(_ count: Int, _ key: String?, _ body: [UInt8], _ call: Call) async throws -> [PushID] {
        let fresh = store.pushes.freshIDs(call.app.key, count: count)
        guard let key else { return fresh }
        let reserved = try await store.pushes.reserve(
            call.app.key, idempotencyKey: call.ownKey(key), bodyDigest: Array(SHA256Digest(of: body)), ids: fresh)
        guard let reserved, reserved.count == count else { throw APIError.idempotencyConflict }
        return reserved
    }

    func idempotencyKey(_ call: Call) throws(APIError) -> String? {
        guard let key = call.headers[.idempotencyKey] else { return nil }
        let isPrintable = key.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        if isPrintable, (1...255).contains(key.utf8.count) { return key }
        throw .parameter("Idempotency-Key", "must be 1 to 255 printable ASCII characters")
    }

    /// Commits one push. In an array, the error names the push that failed and those that were accepted.
    private func accept(
        _ push: PublishBody.Push, ids: [PushID], isRepeatable: Bool, position: Int, _ call: Call
    ) async throws {
        let app = call.app.key
        do {
            let acceptance = try await store.pushes.accept(
                app, withLife(push.publish, call), id: ids[position], payload: push.payload(for: ids[position]),
                timestampOffset: Payload.timestampOffset, isRepeatable: isRepeatable, bounds: bounds)
            if case .refused(let refusal) = acceptance { throw APIError(refusal) }
            metrics.published(app, outcome: "accepted")
        } catch {
            let error = APIError(thrown: error)
            metrics.published(
                app, outcome: error.status == 429 ? "queue_full" : error.status == 409 ? "conflict" : "failed")
            guard ids.count > 1 else { throw error }
            var located = error
            located.applied = position
            located.message = "[\(position)]: \(error.message)"
            let path = error.details.map { "[\(position)].\($0.path)" } ?? "[\(position)]"
            located.details = APIError.Details(error: error.details?.error ?? error.message, path: path, location: nil)
            located.extra.append(JSON.Member("push_ids", .array(ids[..<position].map { .string($0.description) })))
            throw located
        }
    }
}

extension APIError {
    static let idempotencyConflict = APIError(
        409, "This Idempotency-Key was used with another body within the last 24 hours: use a new key for a new body.")

    init(_ refusal: AcceptanceRefusal) {
        switch refusal {
        case .timestampBehind(let last):
            let remedy = "Leave it out to use the time of acceptance"
            self.init(409, "timestamp", "is older than the name's last, \(last): devices would drop it. \(remedy)")
        case .nameClosed:
            self.init(409, "name", "is closed by an end; a start or a new card opens it")
        case .queueFull(let scope, let seconds):
            let what =
                switch scope {
                case .name: "The name's queue is full, and no waiting push may be superseded"
                case .app: "The app's queue is full (gateway.max_queue)"
                case .total: "The queue of all apps together is full (gateway.max_queue_total)"
                }
            self.init(429, "\(what): nothing was accepted. Try again in \(seconds) s.", retryAfter: seconds)
            isOfName = scope == .name
        case .idempotencyConflict: self = .idempotencyConflict
        }
    }

    private init(_ status: Int, _ key: String, _ problem: String) {
        let path = "notification.ios.live_activity.\(key)"
        self.init(status, "\(path): \(problem).", details: Details(error: problem, path: path, location: nil))
    }
}
