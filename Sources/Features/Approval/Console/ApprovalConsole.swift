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
        group: .reach, path: "/console/proposals", title: "Proposals",
        waiting: StripLine(
            scope: .approve, one: "publish waits for a second person", many: "publishes wait for a second person",
            link: "Look and decide"))
}

extension WaitingPush {
    /// The newest proposals of the app among which a room looks for those of its name.
    private static let most = 50

    static let approval: Finder = { visit, name in
        let list: ProposalListAnswer = try await visit.get("/api/proposals", query: "limit=\(most)")
        let mayDecide = visit.session.identity.scopes.contains(.approve)
        return list.proposals.compactMap { proposal -> WaitingPush? in
            guard proposal.names.contains(where: { haveSameBytes($0, name) }), let push = proposal.first else {
                return nil
            }
            return WaitingPush(
                id: proposal.id, due: proposal.time, push: push,
                who: Caller.text(proposal.askedBy.credential, proposal.askedBy.who),
                whoID: Caller.id(proposal.askedBy.whoID), word: "waits for a second person",
                page: ProposalsPage.path(proposal.id),
                actions: mayDecide ? [Action(title: "Look and decide", path: ProposalsPage.path(proposal.id))] : [],
                isHeld: true)
        }
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
            return CopiedPush(proposal.first?.object, at: proposal.time, now: visit.now)
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
