import Answers
import LiveActivity
import StrictJSON

/// The lines of the console's lists that approval adds.
extension Route {
    static let approval: [Route] = [
        Route("GET", "/console/proposals", .read, ProposalsPage.list),
        Route("GET", "/console/proposals/{proposal}", .read, ProposalsPage.show),
        Route("POST", "/console/proposals/{proposal}", .read, ProposalsPage.decide),
    ]
}

extension Notice {
    static let approval: [Notice] = [proposed, approved, rejected, withdrawn, newer]

    static let proposed = Notice(
        "proposed", "It waits for a second person. Nothing is sent until somebody approves it.")
    static let approved = Notice("approved", "Approved. It goes out at its time, or at once.")
    static let rejected = Notice("rejected", "Rejected. Nothing of it is sent.")
    static let newer = Notice(
        "newer", "Nothing was approved: somebody published meanwhile. Look at what the cards show now.")
    static let withdrawn = Notice("withdrawn", "Withdrawn. Nothing of it is sent.")
}

extension MenuEntry {
    static let approval = MenuEntry(
        group: .reach, path: "/console/proposals", title: "Inbox",
        waiting: [
            StripLine(
                place: "/console/proposals?state=waiting", one: "publish waits for a second person",
                many: "publishes wait for a second person", link: "Look and decide"),
            StripLine(
                place: "/console/proposals?state=mine", one: "of your requests has an answer",
                many: "of your requests have an answer", link: "Read it"),
            StripLine(
                place: "/console/proposals?state=mine#conflict",
                one: "of your publishes did not go out, because somebody published before it",
                many: "of your publishes did not go out, because somebody published before them", link: "Look at it"),
        ])
}

extension PushFact {
    /// The person who approved a push. The first push of a proposal has its id.
    static let approval: Finder = { visit, push in
        guard let by = push.by?.second else { return [] }
        let found: ProposalAnswer? = try? await visit.find("/api/proposals/\(Form.encoded(push.pushID))")
        return [
            PushFact(
                title: "approved by", text: Caller.text(by.credential, by.who), hint: Caller.id(by.whoID),
                path: found.map { ProposalsPage.path($0.id) } ?? "/console/proposals?state=over",
                at: found?.decidedAt.flatMap { TimeText.parse($0) })
        ]
    }
}

extension WaitingPush {
    /// The number of the app's newest proposals in which a room looks for proposals of its name.
    private static let most = 50

    static let approval: Finder = { visit, name in
        let list: ProposalListAnswer = try await visit.get("/api/proposals", query: "limit=\(most)")
        let own = list.proposals.filter { $0.names.contains { haveSameBytes($0, name) } }
        guard !own.isEmpty else { return [] }
        let activity: ActivityAnswer? = try await visit.find("/api/activities/\(Form.encoded(name))")
        return own.compactMap { proposal -> WaitingPush? in
            guard let push = proposal.first else { return nil }
            return WaitingPush(
                id: proposal.id, due: proposal.time, push: push, platforms: visit.platforms,
                who: Caller.text(proposal.askedBy.credential, proposal.askedBy.who),
                whoID: Caller.id(proposal.askedBy.whoID), word: "waits for a second person",
                page: ProposalsPage.path(proposal.id), actions: actions(proposal, activity?.newestPush, visit),
                isHeld: true)
        }
    }

    /// The buttons of the room. A proposal of several pushes, or in place of a schedule, is decided about on its page,
    /// because the room shows one push of it.
    private static func actions(
        _ proposal: ProposalAnswer, _ newest: NewestPushAnswer?, _ visit: Visit
    ) -> [Action] {
        let (scopes, path) = (visit.session.identity.scopes, ProposalsPage.path(proposal.id))
        guard proposal.state == "waiting" else { return [] }
        if Caller.isReader(proposal.askedBy, visit) {
            let fields = [(name: "to", value: "withdraw"), (name: "from", value: "room")]
            return scopes.opens(.publish)
                ? [Action(title: "Withdraw", path: path, fields: fields, isDanger: true)] : []
        }
        guard scopes.contains(.approve) else { return [] }
        let look = Action(title: "Look and decide", path: path)
        guard proposal.pushIDs.count == 1, proposal.kind != "replacement" else { return [look] }
        var fields = [
            (name: "to", value: "approve"), (name: "request", value: proposal.request), (name: "from", value: "room"),
        ]
        // The approver sees the newest push beside the button.
        if proposal.time == nil { fields.append((name: "after", value: newest?.pushID ?? "none")) }
        let isEnd = proposal.first?.object?.liveActivity?.text("event") == "end"
        let approve = Action(title: "Approve", path: path, fields: fields, isMain: true, isDanger: isEnd)
        return [approve, look]
    }
}

extension ComposeFeature {
    static let approval = ComposeFeature(markup: { _, _ in "" }, held: .approval)
}

extension HeldPage {
    static let approval = HeldPage(
        word: "approval", button: "Ask for approval",
        hint: "A second person with the scope approve looks at it. Nothing is sent before.", notice: .proposed,
        test: "The test send waits for a second person too.", path: ProposalsPage.path,
        copied: { place, visit in
            let proposal = try await ProposalsPage.proposal(String(place.prefix { $0 != "/" }), visit)
            var copied = CopiedPush(proposal.first?.object, at: proposal.time, now: visit.now)
            if proposal.time == nil { copied.takeCondition() }
            return copied
        },
        change: { place, push, time, visit in
            // `ID/REQUEST`, as the page of the proposal wrote it.
            let parts = place.split(separator: "/").map(String.init)
            guard parts.count == 2 else { throw ConsoleFailure(404, "There is no such proposal.") }
            let proposal = try await ProposalsPage.proposal(parts[0], visit)
            var body = push
            if proposal.kind == "publish" {
                if time != nil {
                    throw ComposeForm.Problem(
                        field: "send_at", message: "must be empty: it goes out once it is approved")
                }
            } else {
                guard let time else {
                    throw ComposeForm.Problem(field: "send_at", message: "is required: it was asked for with a time")
                }
                body = ["schedule": ["scheduled_time": .string(time)], "push": push]
            }
            try await visit.call(
                "PUT", "/api/proposals/\(Form.encoded(parts[0]))", ["request": .string(parts[1]), "body": body])
            return visit.redirect(ProposalsPage.path(parts[0]), .proposed)
        })
}
