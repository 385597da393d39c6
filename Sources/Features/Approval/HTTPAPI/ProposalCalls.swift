import Answers
import LiveActivity
import Store
import StrictJSON

/// Publishes that wait for a second person, and the decision about them.
struct ProposalCalls: CallGroup {
    private let parts: GatewayParts
    private var proposals: Proposals { parts.store.proposals }

    init(_ parts: GatewayParts) { self.parts = parts }

    /// `GET /api/proposals`.
    func list(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let state = call.query["state"] ?? "waiting"
        guard ["waiting", "over", "mine"].contains(state) else {
            throw APIError.parameter("state", "must be waiting, over or mine")
        }
        if let after = call.query["after"], !Proposals.isPosition(after) {
            throw APIError.parameter("after", "must be the `next` of an earlier page")
        }
        if state == "mine" {
            let (app, identity) = (call.app.key, call.person.identity)
            let own = try await proposals.list(
                app, askedBy: identity, namesFrom: call.namePrefix, limit: limit, now: call.now)
            // The reader of the list has heard of each outcome in it.
            try await proposals.markRead(app, askedBy: identity, now: call.now)
            return Answer(
                200, ProposalListAnswer(total: own.total, next: nil, proposals: own.proposals.map(\.answer)))
        }
        let page = try await proposals.list(
            call.app.key, isOver: state == "over", namesFrom: call.namePrefix, after: call.query["after"], limit: limit,
            now: call.now)
        return Answer(
            200, ProposalListAnswer(total: page.total, next: page.next, proposals: page.proposals.map(\.answer)))
    }

    /// `GET /api/proposals/{proposal_id}`.
    func show(_ call: Call) async throws -> Answer { Answer(200, try await find(call).answer) }

    /// `PUT /api/proposals/{proposal_id}`. The caller who edits a proposal becomes the person who asks for it.
    func edit(_ call: Call) async throws -> Answer {
        let found = try await find(call)
        guard let root = try call.object(known: ["request", "body"]), let request = try root["request"]?.string() else {
            throw APIError.request(400, "is required: the `request` of the proposal as you have seen it")
        }
        if found.state != .waiting { throw APIError.standing(found) }
        let posted = try root.required("body")
        let body = try ProposedBody(found.kind, Array(posted.raw), call)
        for push in body.pushes { try call.check(push.publish.name) }
        if let past = body.schedules.lazy.compactMap(\.past).first { throw past }
        guard body.pushes.count == found.pushIDs.count else {
            throw posted.error("must have as many pushes as before: \(found.pushIDs.count)")
        }
        let warnings = try await PublishSteps(parts).check(body.pushes, call)
        let edited = try await Proposal(
            found.id, found.kind, found.pushIDs, body, Array(posted.raw), parts, call)
        guard try await proposals.edit(call.app.key, edited, over: request) else {
            guard let standing = try await proposals.find(call.app.key, found.id), standing.state == .waiting else {
                throw APIError.standing(try await proposals.find(call.app.key, found.id) ?? found)
            }
            throw APIError.changed
        }
        return Answer(200, edited.answer, warnings: warnings).about(edited.subjects)
    }

    /// `DELETE /api/proposals/{proposal_id}`.
    func withdraw(_ call: Call) async throws -> Answer {
        var found = try await find(call)
        while found.state == .waiting {
            var withdrawn = found
            (withdrawn.state, withdrawn.endedAt) = (.withdrawn, call.now)
            // The person who takes back the own proposal knows of it.
            let tells = call.person.identity != found.asker.identity
            if try await proposals.settle(call.app.key, withdrawn, from: found, tells: tells, now: call.now) {
                return Answer.empty.about(found.subjects)
            }
            // Somebody edited it, or decided.
            found = try await find(call)
        }
        if found.state == .withdrawn { return Answer.empty.about(found.subjects) }
        throw APIError.standing(found)
    }

    /// `POST /api/proposals/{proposal_id}/approve`. The body names the request, so that nothing is approved that its
    /// person has not seen. The answer comes once the publish is accepted.
    func approve(_ call: Call) async throws -> Answer {
        let body = try call.object(known: ["request", "after"])
        guard let request = try body?["request"]?.string() else {
            throw APIError.request(400, "is required: the `request` of the proposal as you have seen it")
        }
        let after = try body?["after"]?.afterPush()
        let found = try await find(call)
        if let value = body?["after"], found.name == nil {
            throw value.error("is for a proposal of one name: this one has several")
        }
        let publishing = ApprovedPublishing(
            parts: parts, app: call.app, operation: call.operation, now: call.now)
        if found.objection(to: call.person, request: request, now: call.now) == nil {
            do { try await publishing.check(found, after: after) } catch {
                var error = APIError(thrown: error)
                guard (400..<500).contains(error.status), error.status != 429 else { throw error }
                if error.status != 409 { (error.status, error.code) = (409, 40900) }
                error.message =
                    "It would be refused now: \(error.message) Nothing was decided: edit the proposal, or reject it."
                throw error
            }
        }
        var decided = try await decide(found, approves: true, request: request, after: after, call)
        if decided.state == .approved { decided = try await publishing.finish(decided) }
        guard decided.state == .published else { throw APIError.standing(decided) }
        return Answer(200, decided.answer).about(decided.subjects)
    }

    /// `POST /api/proposals/{proposal_id}/reject`.
    func reject(_ call: Call) async throws -> Answer {
        let body = try call.object(known: ["request", "reason"])
        let reason = try body?["reason"].map { value throws(JSONError) in
            try value.identifier { text throws(IdentifierError) in
                try checkText(text, what: "reason", maximumBytes: ProposalAnswer.mostReason * 4)
                return text
            }
        }
        let decided = try await decide(
            find(call), approves: false, request: body?["request"]?.string(), reason: reason, call)
        return Answer(200, decided.answer)
            .about(decided.subjects.merging([.reason: decided.reason]) { $1 })
    }

    private func decide(
        _ found: Proposal, approves: Bool, request: String?, reason: String? = nil, after: AfterPush? = nil,
        _ call: Call
    ) async throws -> Proposal {
        let result = try await proposals.decide(
            call.app.key, found, approves: approves, request: request, reason: reason, after: after, by: call.person,
            now: call.now)
        switch result {
        case .decided(let proposal): return proposal
        case .own:
            throw APIError(
                403,
                "This is your own proposal: another person with the scope approve decides about it. "
                    + "To withdraw it, delete it.", code: 40306)
        case .changed: throw APIError.changed
        case .lapsed:
            throw APIError(409, "The proposal has lapsed, because nobody decided in time. Publish it again.")
        case .settled(let proposal): throw APIError.standing(proposal)
        }
    }

    /// The proposal of the path, if the caller's credential is for all of its names.
    private func find(_ call: Call) async throws -> Proposal {
        guard let found = try await proposals.find(call.app.key, call.id("proposal_id")),
            found.names.allSatisfy(call.covers)
        else { throw APIError(404, "There is no such proposal.") }
        return found
    }
}

extension APIError {
    fileprivate static func request(_ status: Int, _ problem: String) -> APIError {
        let details = Details(error: problem, path: "request", location: nil)
        return APIError(status, "request: \(problem).", details: details)
    }

    fileprivate static let changed = APIError.request(
        409, "is not the one that waits: the proposal was edited. Read it again, then decide")

    fileprivate static func standing(_ proposal: Proposal) -> APIError {
        APIError(409, "\(proposal.standing) Nothing was changed.")
    }
}

extension Proposal {
    /// For the log of actions.
    fileprivate var subjects: [Action.Subject: String?] { [.entry: id.description, .name: name?.rawValue] }

    fileprivate var answer: ProposalAnswer {
        ProposalAnswer(
            id: id.description, kind: kind.rawValue, state: state.rawValue, pushIDs: pushIDs.map(\.description),
            names: names.map(\.rawValue), body: RawJSON(checked: body), request: request,
            askedBy: PublisherAnswer(asker.publisher), askedAt: TimeText.text(askedAt),
            lapsesAt: state == .waiting ? TimeText.text(lapses) : nil,
            decidedBy: decision.map { PublisherAnswer($0.by.publisher) },
            decidedAt: decision.map { TimeText.text($0.at) }, reason: reason, endedAt: endedAt.map(TimeText.text))
    }
}

extension Endpoint {
    static let approval: [Endpoint] = [
        Endpoint(
            "GET", "/api/proposals", .master, .read, ProposalCalls.list, [.ok(ProposalListAnswer.self)],
            checksNames: true),
        Endpoint(
            "GET", "/api/proposals/{proposal_id}", .master, .read, ProposalCalls.show, [.ok(ProposalAnswer.self)],
            checksNames: true),
        Endpoint(
            "PUT", "/api/proposals/{proposal_id}", .master, .publish, ProposalCalls.edit, [.ok(ProposalAnswer.self)],
            checksNames: true, acts: .editProposal),
        Endpoint(
            "DELETE", "/api/proposals/{proposal_id}", .master, .publish, ProposalCalls.withdraw, [.empty],
            checksNames: true, acts: .withdraw),
        Endpoint(
            "POST", "/api/proposals/{proposal_id}/approve", .master, .approve, ProposalCalls.approve,
            [.ok(ProposalAnswer.self)], checksNames: true, acts: .approve),
        Endpoint(
            "POST", "/api/proposals/{proposal_id}/reject", .master, .approve, ProposalCalls.reject,
            [.ok(ProposalAnswer.self)], checksNames: true, acts: .reject),
    ]
}
