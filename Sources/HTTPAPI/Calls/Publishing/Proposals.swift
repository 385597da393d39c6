import APNsWire
import Answers
import LiveActivity
import OpenSSL
import Store
import StrictJSON

/// Publishes that wait for the approval of a second person: whose do, and how they are kept.
struct Proposals {
    private let schedules: Schedules
    private let metrics: GatewayMetrics
    private let life: Duration

    init(_ parts: GatewayParts) {
        (schedules, metrics) = (parts.store.schedules, parts.metrics)
        life = parts.configuration.approvalLife
    }

    /// Whether one of them waits for approval. Then all of the body do: they belong together.
    static func areNeeded(_ pushes: [PublishBody.Push], _ call: Call) -> Bool {
        call.credential.mustPropose && pushes.contains { call.app.approvalRule.covers($0.publish.event) }
    }

    /// The same schedule, as a request for approval.
    /// - Parameter wanted: when it is to go out, epoch ms. Nil: once it is approved.
    func request(_ schedule: Schedule, wanted: Int64?, _ call: Call) -> Schedule {
        var schedule = schedule
        let approval = Approval(asker: call.person.identity, askedAt: call.now, wanted: wanted)
        schedule.approval = approval
        (schedule.state, schedule.due) = (.awaiting, approval.lapse(of: schedule.publish, after: life))
        return schedule
    }

    /// Keeps the pushes of a publish until somebody approves them. Repeatable with the same ids.
    /// - Returns: their states. A repetition learns what became of them.
    func keep(_ pushes: [PublishBody.Push], ids: [PushID], _ call: Call) async throws -> [Schedule.State] {
        var wanted: [Schedule] = []
        for (id, push) in zip(ids, pushes) {
            guard let posted = push.posted else { throw APIError.internalError("a push without its text") }
            guard posted.raw.count <= ScheduleBody.maximumPushBytes else {
                let most = "\(ScheduleBody.maximumPushBytes) bytes, because it waits for approval"
                throw posted.error("must be at most \(most)")
            }
            let schedule = Schedule(
                id: id, publish: call.completed(push.publish), payload: push.payload(for: id),
                timestampOffset: Payload.timestampOffset, due: call.now, createdAt: call.now, posted: Array(posted.raw))
            wanted.append(request(schedule, wanted: nil, call))
        }
        guard let standing = try await schedules.create(call.app.key, wanted) else {
            metrics.scheduled(call.app.key, outcome: "full", count: wanted.count)
            throw APIError.tooManySchedules
        }
        metrics.scheduled(call.app.key, outcome: "proposed", count: standing.count)
        return standing.map(\.state)
    }
}

extension Credential {
    /// Whether what the caller publishes waits for a second person, as far as the app's rule names it.
    var mustPropose: Bool { if case .issued(let grant) = self { grant.scopes.mustPropose } else { false } }
}

extension Call {
    /// The caller, as two requests for approval are compared: the person, or all who have the credential.
    var person: Approval.Person {
        let text = caller.whoID.map { "person \($0)" } ?? "credential \(caller.credential)"
        return Approval.Person(identity: Hex.encode(SHA256Digest(of: text.utf8).prefix(16)), publisher: caller)
    }
}

extension APIError {
    static let tooManySchedules = APIError(
        429, "The app has too many waiting schedules: none was accepted. Try again in 60 s.", retryAfter: 60)
}
