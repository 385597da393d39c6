import APNsWire
import Answers
import HTTPTypes
import LiveActivity
import Spans
import Store
import StrictJSON

/// `POST /api/push`. Features publish through it, too.
struct PublishCalls: CallGroup {
    private let pushes: Pushes
    private let metrics: GatewayMetrics
    private let bounds: QueueBounds
    private let budget: HighBudget
    private let handing: Handing?
    private let steps: PublishSteps
    private let parts: GatewayParts
    private let hints: NameHints
    private let conditions: PublishConditions
    private let spans: SpanExporter?

    init(_ parts: GatewayParts) {
        (pushes, metrics, bounds) = (parts.store.pushes, parts.metrics, parts.bounds)
        (budget, handing) = (parts.configuration.budget, parts.configuration.handing)
        (steps, hints, spans, self.parts) = (PublishSteps(parts), NameHints(parts), parts.spans, parts)
        conditions = PublishConditions(parts)
    }

    /// Answers 202 only when Redis has every push of the body. After kill -9 between two pushes of an array, a
    /// repetition with the same Idempotency-Key completes the array under the same ids.
    func publish(_ call: Call) async throws -> Answer {
        guard let spans, let (context, parent) = spans.sample(call.headers[.traceparent]) else {
            return try await publish(call, traceparent: nil)
        }
        let span = PublishSpan(spans: spans, context: context, parent: parent, call: call)
        do {
            let answer = try await publish(call, traceparent: context.header)
            span.end(answer.status, answer.pushes)
            return answer
        } catch {
            let error = APIError(thrown: error)
            // A wrong request is no failure of the server, say the conventions for HTTP.
            span.end(error.status, failure: error.status >= 500 ? error.message : nil)
            throw error
        }
    }

    private func publish(_ call: Call, traceparent: String?) async throws -> Answer {
        let key = try call.idempotencyKey()
        let pushes = try call.pushes()
        let warnings = try await steps.check(pushes, call) + budgetWarnings(pushes, call)
        let (ids, areKnown) = try await steps.ids(pushes.count, key, call)
        let attempt = PublishAttempt(kind: .publish, ids: ids, pushes: pushes, times: pushes.map { _ in nil })
        let holding = try await parts.hold(attempt, call)
        if holding == nil {
            try await commit(pushes, ids, isRepeatable: key != nil, traceparent: traceparent, call)
        }
        // The commits have noted which names are followed, so usually nothing is asked here.
        let hints = await hints.hints(hints.unfollowed(pushes, call), call)
        let body = AcceptedAnswer(
            operationID: call.operation, pushIDs: ids.map(\.description), messageIDs: [], contentURLs: [],
            states: areKnown && holding == nil ? try await states(pushes, ids, call) : nil, held: holding?.held,
            heldID: holding?.id?.description)
        var answer = Answer(202, body, warnings: warnings, hints: hints).about(
            Self.subjects(pushes, ids).merging(holding?.subjects ?? [:]) { $1 }, as: holding?.gate.action,
            count: ids.count)
        if holding == nil { answer.pushes = ids.map(\.description) }
        return answer
    }

    /// The states of the pushes of a repetition. Nil: one of them is not kept any more.
    private func states(_ bodies: [PublishBody.Push], _ ids: [PushID], _ call: Call) async throws -> [String]? {
        let kept = try await pushes.ledgers(call.app.key, zip(ids, bodies).map { ($0, $1.publish.name) })
        let states = kept.compactMap { ledger, _ in ledger?.state.rawValue }
        return states.count == ids.count ? states : nil
    }

    private static func subjects(_ pushes: [PublishBody.Push], _ ids: [PushID]) -> [Action.Subject: String?] {
        let names = Set(pushes.map(\.publish.name))
        return [.name: names.count == 1 ? names.first?.rawValue : nil, .push: ids.first?.description]
    }

    /// Accepts checked pushes under these ids. In an array, the error names the push that failed.
    /// - Parameter isRepeatable: whether an earlier call may have accepted them
    func commit(
        _ pushes: [PublishBody.Push], _ ids: [PushID], isRepeatable: Bool, traceparent: String? = nil, _ call: Call
    ) async throws {
        try await steps.rememberTypes(pushes, call)
        for (position, var push) in PublishConditions.chained(pushes, ids).enumerated() {
            push.publish.traceparent = traceparent
            try await accept(push, ids: ids, isRepeatable: isRepeatable, position: position, call)
        }
    }

    /// Warns of updates that will go out at priority 5: an estimate, as a worker counts when it begins the push.
    private func budgetWarnings(_ pushes: [PublishBody.Push], _ call: Call) async throws -> [String] {
        guard budget.perHour > 0 else { return [] }
        var warnings: [String] = []
        for (position, push) in pushes.enumerated() where push.publish.isDemotable {
            let isSpent = try await self.pushes.isHighSpent(call.app.key, push.publish.name, budget, now: call.now)
            guard isSpent else { continue }
            let place = pushes.count > 1 ? "[\(position)]: " : ""
            let spent = "the name has used its \(budget.perHour) updates at priority 10 for this hour"
            warnings.append("\(place)goes out at priority 5: \(spent) (budget.high_per_hour)")
        }
        return warnings
    }

    /// Commits one push. In an array, the error names the push that failed and the pushes that were accepted.
    private func accept(
        _ push: PublishBody.Push, ids: [PushID], isRepeatable: Bool, position: Int, _ call: Call
    ) async throws {
        let app = call.app.key
        do {
            let acceptance = try await pushes.accept(
                app, call.completed(push.publish), id: ids[position], payload: push.payload(for: ids[position]),
                timestampOffset: Payload.timestampOffset, isRepeatable: isRepeatable, bounds: bounds,
                handing: handing)
            if case .refused(.conflict(let newest)) = acceptance {
                throw await conditions.refusal(push.publish.name, newest: newest, call)
            }
            if case .refused(let refusal) = acceptance { throw APIError(refusal, of: push.publish) }
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
    init(_ refusal: AcceptanceRefusal, of publish: Publish) {
        // The push has a name and a time in each part, and its first part stands for them.
        let part = PushBlocks.path(on: publish.platforms.first ?? .ios)
        switch refusal {
        case .timestampBehind(let last):
            let problem = "is older than the name's last, \(last): devices would drop it"
            self.init(409, "\(part).timestamp", "\(problem). Leave it out to use the time of acceptance")
        case .nameClosed:
            self.init(409, "\(part).name", "is closed by an end; a start or a new card opens it")
        case .queueFull(let scope, let seconds):
            let what =
                switch scope {
                case .name: "The name's queue is full, and no waiting push may be superseded"
                case .app: "The app's queue is full (gateway.max_queue)"
                case .total: "The queue of all apps together is full (gateway.max_queue_total)"
                }
            self.init(429, "\(what): nothing was accepted. Try again in \(seconds) s.", retryAfter: seconds)
            isOfName = scope == .name
        case .conflict: self.init(409, "The condition of the push does not hold.")
        }
    }

    private init(_ status: Int, _ path: String, _ problem: String) {
        self.init(status, "\(path): \(problem).", details: Details(error: problem, path: path, location: nil))
    }
}

/// The span of a publish: from its checked request to its answer.
private struct PublishSpan {
    let spans: SpanExporter
    let context: TraceContext
    let parent: String?
    let call: Call
    let start = wallNanoseconds()

    func end(_ status: Int, _ pushes: [String] = [], failure: String? = nil) {
        // https://opentelemetry.io/docs/specs/semconv/http/http-spans/
        var about: [Span.Attribute] = [
            .init("http.request.method", .text("POST")), .init("http.route", .text("/api/push")),
            .init("http.response.status_code", .count(status)), .init("lamplighter.app", .text(call.app.key.rawValue)),
            .init("lamplighter.operation", .text(call.operation)), .init("lamplighter.pushes", .count(pushes.count)),
        ]
        if let push = pushes.first { about.append(.init("lamplighter.push", .text(push))) }
        spans.add(
            Span(
                "POST /api/push", .server, context, parent: parent, start: start, end: wallNanoseconds(), about,
                failure: failure))
    }
}
