import Answers
import LiveActivity
import StrictJSON

/// Proposals: the list, and the page of one proposal. The page says what the publish would do, in the words of the
/// question before a publish, and who asked for it.
enum ProposalsPage {
    @Sendable static func path(_ id: String) -> String { "/console/proposals/\(Form.encoded(id))" }

    static func proposal(_ id: String, _ visit: Visit) async throws -> ProposalAnswer {
        try await visit.get("/api/proposals/\(Form.encoded(id))")
    }

    /// The tab that the reader sees first: the own requests if the reader proposes and cannot approve, else the waiting
    /// requests.
    private static func tab(_ visit: Visit) -> String {
        if let state = visit.query.text("state") { return state }
        let scopes = visit.session.identity.scopes
        return scopes.mustPropose && !scopes.contains(.approve) ? "mine" : "waiting"
    }

    static func list(_ visit: Visit) async throws -> ConsoleResponse {
        let tab = tab(visit)
        let state: KeyValuePairs<String, String?> = ["state": tab]
        let file = try await Export.file(
            visit, "/api/proposals", "proposals", columns: ProposalAnswer.memberNames.filter { $0 != "body" }, state)
        if let file { return file }
        let page = try await visit.list(
            "/api/proposals", \ProposalListAnswer.proposals, next: \.next, state, limit: 50)
        var rows = page.rows.map { row($0, isMine: tab == "mine", visit) }
        if tab == "mine" { rows.insert(contentsOf: await conflicts(visit), at: 0) }
        return visit.page(
            "proposals", "Inbox",
            values([
                "proposals": rows, "empty": rows.isEmpty ? true : nil, "isOver": tab == "over" ? true : nil,
                "isMine": tab == "mine" ? true : nil, "isWaiting": tab == "waiting" ? true : nil,
                "pager": Pager.values(visit, next: page.next, keeping: ["state"]),
            ]))
    }

    private static func row(_ proposal: ProposalAnswer, isMine: Bool, _ visit: Visit) -> Values {
        let isWaiting = proposal.state == "waiting"
        return sealed([
            "path": path(proposal.id), "name": proposal.names.joined(separator: ", "), "state": proposal.state,
            "namePath": proposal.names.count == 1 ? RoomPage.path(proposal.names[0]) : nil,
            "what": what(proposal), "said": SaidPush.words(proposal.first),
            "asker": isMine ? nil : Caller.text(proposal.askedBy.credential, proposal.askedBy.who),
            "askerID": Caller.id(proposal.askedBy.whoID), "reason": proposal.reason,
            "decider": proposal.decidedBy.map { Caller.text($0.credential, $0.who) },
            "deciderID": Caller.id(proposal.decidedBy?.whoID), "due": Shown.time(proposal.time, now: visit.now),
            "at": Shown.time(isWaiting ? proposal.lapsesAt : proposal.endedAt, now: visit.now),
            "lapses": isWaiting ? true : nil, "unsent": proposal.state == "approved" ? true : nil,
        ])
    }

    /// The reader's publishes that did not go out, because somebody published meanwhile.
    private static func conflicts(_ visit: Visit) async -> [Values] {
        var rows: [Values] = []
        let conflicts = (try? await WaitingPush.conflicts(visit, nil, limit: 100)) ?? []
        for (schedule, at) in conflicts where Caller.isReader(schedule.by, visit) {
            let activity = schedule.push.object?.liveActivity
            let name = activity?.text("name") ?? ""
            rows.append(
                sealed([
                    "path": "/console/pushes/\(schedule.pushIDs.first ?? "")", "name": name,
                    "namePath": RoomPage.path(name), "state": "conflict", "what": activity?.text("event"),
                    "said": SaidPush.words(schedule.push),
                    "asker": nil, "reason": "somebody published before it, so it did not go out", "decider": nil,
                    "due": Shown.time(schedule.schedule.scheduledTime, now: visit.now),
                    "at": Shown.time(at, now: visit.now), "lapses": nil, "unsent": nil,
                ]))
        }
        return rows
    }

    private static func what(_ proposal: ProposalAnswer) -> String {
        let event = proposal.first?.object?.liveActivity?.text("event") ?? "push"
        let more = proposal.pushIDs.count > 1 ? " and \(Shown.count(proposal.pushIDs.count - 1)) more" : ""
        return event + more + (proposal.kind == "replacement" ? ", in place of a schedule" : "")
    }

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let proposal = try await proposal(visit.parameter("proposal"), visit)
        let form = CopiedPush(proposal.first?.object, at: proposal.time, now: visit.now).form
        let compose = ComposeForm(form, now: visit.now)
        let scopes = visit.session.identity.scopes
        let isWaiting = proposal.state == "waiting"
        let mayDecide = isWaiting && scopes.contains(.approve)
        let (preview, warnings, problem) = mayDecide ? await check(proposal, visit) : (nil, [], nil)
        let reach = preview.map { ReachText($0) }
        let title = reach?.words(compose, isScheduled: false, isChange: false).title
        var all = warnings
        if let reach, let unusual = try await UsualReach.warning(reach, compose, visit) { all.insert(unusual, at: 0) }
        let time = Shown.time(proposal.time, now: visit.now)
        let others = proposal.pushIDs.count - 1
        var shown = values([
            "title": title ?? "\(Shown.capitalized(compose.event)) of \(compose.name)\(isWaiting ? "?" : "")",
            "sentence": reach?.sentence(compose, isInside: time != nil, isScheduled: time != nil),
            "problem": problem, "warnings": all, "name": compose.name,
            "namePath": RoomPage.path(compose.name), "event": compose.event,
            "priority": form.text("priority") ?? "10", "time": time, "state": proposal.state,
            "audience": proposal.first?.object.flatMap {
                AudienceText.text($0, of: compose.event, in: visit.platforms)
            },
            "asker": "\(caller(proposal.askedBy)) from \(proposal.askedBy.address)",
            "askerID": Caller.id(proposal.askedBy.whoID), "asked": Shown.time(proposal.askedAt, now: visit.now),
            "lapses": Shown.time(proposal.lapsesAt, now: visit.now),
            "decider": proposal.decidedBy.map(caller), "deciderID": Caller.id(proposal.decidedBy?.whoID),
            "decided": Shown.time(proposal.decidedAt, now: visit.now), "reason": proposal.reason,
        ])
        if others > 0 { shown["others"] = Shown.count(others, "push", "pushes") }
        if proposal.kind == "replacement" { shown["schedule"] = proposal.pushIDs.first }
        if isWaiting { shown["isWaiting"] = true }
        if isWaiting, others == 0 { shown["mayChange"] = true }
        if proposal.state == "approved" { shown["isUnsent"] = true }
        if ["rejected", "withdrawn", "lapsed", "failed"].contains(proposal.state) { shown["isOver"] = true }
        if proposal.state == "published" { shown["push"] = proposal.pushIDs.first.map { "/console/pushes/\($0)" } }
        if mayDecide { shown["mayDecide"] = true }
        if compose.event == "end" { shown["isEnd"] = true }
        if compose.closes(visit.platforms) { shown["closes"] = true }
        shown["approve"] = time == nil ? "Approve and send" : "Approve"
        let overview = try await NameOverview(compose.name, visit, .present)
        if isWaiting { shown.merge(try await before(proposal, compose, overview, visit)) { $1 } }
        shown["card"] = await ComposeCheck.card(form, visit, known: overview.type)
        shown["payload"] = proposal.body.value.map { JSONLayout.lines($0) }
        shown["request"] = proposal.request
        shown["path"] = path(proposal.id)
        shown["change"] = "/console/compose" + Form.query(["held": "approval/\(proposal.id)/\(proposal.request)"])
        shown["mostReason"] = ProposalAnswer.mostReason
        return visit.page("proposal", isWaiting ? "Approve?" : "Proposal", shown)
    }

    /// The state that the cards show now, and whether that state is newer than the request.
    private static func before(
        _ proposal: ProposalAnswer, _ compose: ComposeForm, _ overview: NameOverview, _ visit: Visit
    ) async throws -> Values {
        let newest = overview.newest
        let at = newest.flatMap { TimeText.parse($0.acceptedAt) }
        let isNewer = at.map { $0 > TimeText.parse(proposal.askedAt) ?? 0 } ?? false
        let (state, proposed) = (overview.shownState, proposal.first?.object?.liveActivity?["content_state"])
        let headline = state.flatMap(Card.headline)
        var shown = values([
            "stands": headline ?? (newest == nil ? nil : "an update without a state"),
            "standsSince": Shown.time(at, now: visit.now),
            "standsBy": newest?.by.map(caller),
            "headline": headline.flatMap { before in proposed.flatMap(Card.headline).map { "\(before) → \($0)" } },
            "newer": isNewer ? true : nil, "approve": isNewer ? "Approve, although newer" : nil,
            // A time to send at has no precondition: much may happen until then.
            "after": proposal.time == nil && proposal.names.count == 1 ? newest?.pushID ?? "none" : nil,
        ])
        guard let state else { return shown }
        shown["before"] =
            Card(
                app: visit.app.rawValue, name: compose.name, state: state, drawing: await visit.drawing(overview.type),
                type: overview.type, now: visit.now
            ).values
        let fields = try await SchemaFields.find(visit, compose, known: overview.type)
        let changes = proposed.map { StateText($0).changes(from: StateText(state)) } ?? []
        shown["changes"] = changes.map { change in
            [
                "key": fields?.title(change.key) ?? change.key, "old": StateText.shown(change.before),
                "new": StateText.shown(change.after),
            ] as Values
        }
        shown["hasChanges"] = changes.isEmpty ? nil : true
        return shown
    }

    private static func caller(_ by: PublisherAnswer) -> String {
        by.who == nil ? "the credential \(by.credential)" : Caller.text(by.credential, by.who)
    }

    /// The dry run of the pushes as they were posted: it counts who would get the first one now.
    private static func check(
        _ proposal: ProposalAnswer, _ visit: Visit
    ) async -> (PreviewAnswer?, warnings: [String], problem: String?) {
        let pushes = JSON.array(proposal.pushes.map { JSON($0) })
        let answer = await visit.answer("POST", "/api/push/validate", pushes)
        guard (200..<300).contains(answer.status), let checked = try? DryRunAnswer(answer) else {
            return (nil, [], ConsoleFailure(answer).message)
        }
        return (checked.pushes.first, (checked.warned.warnings ?? []).map(ComposeCheck.words), nil)
    }

    /// Does what a button of the page says.
    static func decide(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("proposal")
        let call = "/api/proposals/\(Form.encoded(id))"
        // A button of a room leads back to it.
        let names = visit.form["from"] == "room" ? try await proposal(id, visit).names : []
        let page = names.count == 1 ? RoomPage.path(names[0]) : path(id)
        let request = JSON.string(visit.form["request"])
        switch visit.form["to"] {
        case "withdraw":
            try await visit.call("DELETE", call)
            return visit.redirect(page, .withdrawn)
        case "approve":
            let after = visit.form.text("after").map(JSON.string)
            let answer = await visit.answer("POST", call + "/approve", .fields(["request": request, "after": after]))
            guard (200..<300).contains(answer.status) else {
                let failure = ConsoleFailure(answer)
                // Nothing was decided. The page shows what is newer.
                if after != nil, failure.isNewerPush { return visit.redirect(page, .newer) }
                throw failure
            }
            return visit.redirect(page, .approved)
        default:
            let reason = visit.form.text("reason").map(JSON.string)
            try await visit.call("POST", call + "/reject", .fields(["request": request, "reason": reason]))
            return visit.redirect(page, .rejected)
        }
    }
}

extension ProposalAnswer {
    private var bodies: [JSONValue] {
        guard let value = body.value else { return [] }
        return (try? value.array()) ?? [value]
    }

    /// The proposal's pushes, as they were posted.
    var pushes: [JSONValue] {
        kind == "publish" ? bodies : bodies.compactMap { try? $0.object()["push"] }
    }

    var first: RawJSON? { pushes.first.map { RawJSON(checked: Array($0.raw)) } }

    /// When its first push is to go out, epoch ms. Nil: once it is approved.
    var time: Int64? {
        guard kind != "publish" else { return nil }
        return (try? bodies.first?.object())?.object("schedule")?.text("scheduled_time").flatMap { TimeText.parse($0) }
    }
}
