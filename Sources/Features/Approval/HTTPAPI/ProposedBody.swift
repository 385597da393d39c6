import LiveActivity
import Store
import StrictJSON

/// The body of a proposal, read again: as a call of its kind would be at this time, with the app's defaults of now.
struct ProposedBody {
    var pushes: [PublishBody.Push]
    /// When each is to go out, epoch ms. Nil: at once.
    var times: [Int64?]
    /// The schedules of the body; empty for a publish.
    private(set) var schedules: [ScheduleBody.Scheduled] = []

    init(pushes: [PublishBody.Push], times: [Int64?]) { (self.pushes, self.times) = (pushes, times) }

    init(_ kind: Proposal.Kind, _ bytes: [UInt8], _ call: Call) throws {
        switch kind {
        case .publish:
            pushes = try PublishBody.parse(bytes, now: call.now, call.app.reading)
            times = pushes.map { _ in nil }
            return
        case .schedule:
            schedules = try ScheduleBody.parse(bytes, now: call.now, call.app.reading)
        case .replacement:
            schedules = [
                try ScheduleBody.scheduled(JSONDocument(bytes).root, now: call.now, call.app.reading)
            ]
        }
        (pushes, times) = (schedules.map(\.push), schedules.map { $0.due })
    }

    /// Replaces the condition of each push by the approver's condition.
    mutating func come(after: AfterPush?) {
        guard let after else { return }
        for index in pushes.indices { pushes[index].publish.options.after = after }
        for index in schedules.indices { schedules[index].push.publish.options.after = after }
    }
}

/// Publishes an approved proposal, under the ids that it has had from the start.
struct ApprovedPublishing {
    let parts: GatewayParts
    let app: GatewayApp
    let operation: String
    /// Epoch ms.
    let now: Int64

    private var proposals: Proposals { parts.store.proposals }
    private func asker(_ proposal: Proposal) -> Call {
        Call(publishing: proposal, of: app, operation: operation, now: now)
    }

    /// Checks a proposal as if it was published now: a schema or a broadcast channel may have changed since, or a push
    /// may have come first. A schedule's condition is for its time.
    func check(_ proposal: Proposal, after: AfterPush?) async throws {
        let asker = asker(proposal)
        var body = try ProposedBody(proposal.kind, proposal.body, asker)
        body.come(after: after)
        _ = try await PublishSteps(parts).check(body.pushes, asker)
        guard proposal.kind == .publish else { return }
        if let found = try await PublishConditions(parts).firstConflict(body.pushes, asker) { throw found.refusal }
    }

    /// Publishes an approved proposal. Repeatable, also by several gateways at once.
    /// - Returns: the proposal as it is then: published, or failed if the publish was refused for good.
    /// - Throws: if Redis, or a full queue, does not take it now. It is still approved then.
    func finish(_ approved: Proposal) async throws -> Proposal {
        var done = approved
        done.endedAt = now
        do {
            try await publish(approved)
            done.state = .published
        } catch {
            let error = APIError(thrown: error)
            guard (400..<500).contains(error.status), error.status != 429 else { throw error }
            (done.state, done.reason) = (.failed, error.message)
        }
        if try await proposals.settle(app.key, done, from: approved, now: now) { return done }
        return try await proposals.find(app.key, approved.id) ?? done
    }

    private func publish(_ proposal: Proposal) async throws {
        let asker = asker(proposal)
        var body = try ProposedBody(proposal.kind, proposal.body, asker)
        body.come(after: proposal.decision?.after)
        switch proposal.kind {
        case .publish:
            try await PublishCalls(parts).commit(body.pushes, proposal.pushIDs, isRepeatable: true, asker)
        case .schedule: _ = try await ScheduleCalls(parts).commit(body.schedules, proposal.pushIDs, asker)
        case .replacement:
            guard let id = proposal.pushIDs.first, let schedule = body.schedules.first else { return }
            _ = try await ScheduleCalls(parts).commit(replacing: id, by: schedule, asker)
        }
    }
}
