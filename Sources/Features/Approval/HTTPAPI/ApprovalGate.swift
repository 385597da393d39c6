import Answers
import Console
import LiveActivity
import Store
import StrictJSON

extension WaitingCount {
    static let approval: [WaitingCount] = [
        WaitingCount(place: "/console/proposals?state=waiting") { store, reader, now throws(StoreError) in
            guard reader.scopes.contains(.approve) else { return 0 }
            return try await store.proposals.count(reader.app, namesFrom: reader.namePrefix, now: now)
        },
        WaitingCount(place: "/console/proposals?state=mine") { store, reader, _ throws(StoreError) in
            guard reader.scopes.mustPropose else { return 0 }
            return try await store.proposals.unread(reader.app, askedBy: identity(reader)).count
        },
        WaitingCount(place: "/console/proposals?state=mine#conflict") { store, reader, _ throws(StoreError) in
            guard reader.scopes.opens(.publish) else { return 0 }
            let own = try await store.schedules.conflicts(reader.app, last: lookedAt).filter {
                Proposal.Person.identity($0.by.credential, whoID: $0.by.whoID) == identity(reader)
            }
            if own.isEmpty { return 0 }
            let readAt = try await store.proposals.unread(reader.app, askedBy: identity(reader)).readAt
            return own.count { $0.at > readAt }
        },
    ]
    /// So many finished schedules are looked at for conflicts: each page and each live part does so.
    private static let lookedAt = 20

    private static func identity(_ reader: ConsoleIdentity) -> String {
        Proposal.Person.identity(reader.credentialID ?? Credential.master.id, whoID: reader.person?.subject)
    }
}

extension PublishGate {
    /// Holds what callers with the scope `propose` publish, as far as the app's rule names it. If one push of a body
    /// waits, all of them do: they belong together.
    static let approval = PublishGate(
        word: "approval", action: .propose,
        holds: { pushes, call, configuration in
            guard case .issued(let grant) = call.credential, grant.scopes.mustPropose else { return false }
            let rule = call.app.approvalRule ?? configuration.approval.rule
            return pushes.contains { rule.covers($0.publish.event) }
        },
        keep: { attempt, parts, call in
            let body = ProposedBody(pushes: attempt.pushes, times: attempt.times)
            // Two changes of one schedule are two proposals, so each has a fresh id.
            let own = attempt.kind == .replacement ? nil : attempt.ids.first
            let proposal = try await Proposal(
                own ?? .ordered(at: call.now, index: 0), .init(attempt.kind), attempt.ids, body, call.body.collect(),
                parts, call)
            let proposals = parts.store.proposals
            // A repetition is allowed to come after the scheduled time.
            if let past = attempt.past, try await proposals.find(call.app.key, proposal.id) == nil { throw past }
            switch try await proposals.keep(call.app.key, proposal) {
            case .new: return proposal.id
            case .known(let found):
                switch found.state {
                case .waiting, .approved: return found.id
                case .published: return nil
                case .rejected, .withdrawn, .lapsed, .failed:
                    throw APIError(
                        409, "\(found.standing) It is never sent: to publish it again, use another Idempotency-Key.")
                }
            case .full:
                throw APIError(
                    429, "The app has too many proposals that wait: none was accepted. Try again in 60 s.",
                    retryAfter: 60)
            }
        })
}

extension Proposal.Kind {
    init(_ kind: PublishAttempt.Kind) {
        self =
            switch kind {
            case .publish: .publish
            case .schedule: .schedule
            case .replacement: .replacement
            }
    }
}

extension Proposal {
    /// The proposal that a call makes.
    /// - Parameter posted: the text of `body`, as it was posted
    init(
        _ id: PushID, _ kind: Kind, _ pushIDs: [PushID], _ body: ProposedBody, _ posted: [UInt8],
        _ parts: GatewayParts, _ call: Call
    ) async throws {
        for push in body.pushes {
            // A schedule's push has this limit anyhow.
            guard let posted = push.posted, posted.raw.count > ScheduleBody.maximumPushBytes else { continue }
            throw posted.error("must be at most \(ScheduleBody.maximumPushBytes) bytes, because it waits for approval")
        }
        var names = Set(body.pushes.map(\.publish.name))
        if kind == .replacement, let id = pushIDs.first {
            guard let schedule = try await parts.store.schedules.find(call.app.key, id) else {
                throw APIError.noSuchSchedule
            }
            if schedule.state.isRefused {
                throw APIError(409, "The schedule failed, or was deleted. Create another one.")
            }
            if schedule.state != .scheduled { throw APIError.scheduleOnItsWay(id) }
            // The replacement takes the schedule away from this name.
            names.insert(schedule.publish.name)
        }
        self.init(
            id: id, kind: kind, pushIDs: pushIDs, names: names.sorted { $0.rawValue < $1.rawValue }, body: posted,
            asker: call.person, askedAt: call.now,
            lapses: Self.lapse(
                of: zip(body.pushes, body.times).map { Due(call.completed($0.publish), wanted: $1) },
                askedAt: call.now, after: parts.configuration.approval.life))
    }

    /// A sentence for somebody who wanted to do something with a proposal that does not wait.
    var standing: String {
        let who = decision.map { decision in
            let by = decision.by.publisher
            return by.who == nil ? "the credential '\(by.credential)'" : Publisher.shown(by.credential, by.who)
        }
        let by = who.map { " by \($0)" } ?? ""
        return switch state {
        case .waiting: "The proposal waits."
        case .approved, .published: "The proposal was approved\(by)."
        case .rejected: "The proposal was rejected\(by)\(reason.map { ": \($0)" } ?? "")."
        case .withdrawn: "The proposal was withdrawn."
        case .lapsed: "The proposal has lapsed, because nobody decided in time."
        case .failed: "The proposal was approved\(by), and refused then: \(reason ?? "")"
        }
    }
}
