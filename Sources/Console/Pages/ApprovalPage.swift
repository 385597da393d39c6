import Answers
import LiveActivity
import Store
import StrictJSON

/// One publish that waits for a second person: what it would do, in the words of the question before a publish, who
/// asked, and the two buttons.
enum ApprovalPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("schedule")
        let schedule: ScheduleAnswer = try await visit.get("/api/schedules/\(Form.encoded(id))")
        guard schedule.state == Schedule.State.awaiting.rawValue, let approval = schedule.approval else {
            return .redirect("/console/pushes/\(Form.encoded(id))")
        }
        let form = CopiedPush(schedule).form
        let compose = ComposeForm(form, now: visit.now)
        let identity = visit.session.identity
        let mayDecide = identity.scopes.contains(.approve)
        let (preview, warnings, problem) = mayDecide ? await check(schedule, visit) : (nil, [], nil)
        let reach = preview.map { ReachText($0) }
        let time = approval.atOnce == true ? nil : Shown.time(schedule.schedule.scheduledTime, now: visit.now)
        let title = reach?.words(compose, isScheduled: false, isChange: false).title
        var all = warnings
        if let reach, let unusual = await UsualReach.warning(reach, compose, visit) { all.insert(unusual, at: 0) }
        return visit.page(
            "approval", "Approve?",
            values([
                "title": title ?? "\(Shown.capitalized(compose.event)) of \(compose.name)?",
                "sentence": reach?.sentence(compose, isInside: time != nil, isScheduled: time != nil),
                "problem": problem, "warnings": all, "name": compose.name,
                "namePath": "/console/names/\(Form.encoded(compose.name))", "event": compose.event,
                "priority": form.text("priority") ?? "10", "time": time,
                "audience": schedule.push.object?["audience"].map { AudienceText.text($0, of: compose.event) },
                "asker": approval.askedBy.map { by -> String in
                    let words = by.who == nil ? "the credential \(by.credential)" : Caller.text(by.credential, by.who)
                    return "\(words) from \(by.address)"
                },
                "askerID": Caller.id(approval.askedBy?.whoID),
                "asked": Shown.time(approval.askedAt, now: visit.now),
                "lapses": Shown.time(approval.lapsesAt, now: visit.now), "request": approval.request,
                "mayDecide": mayDecide ? true : nil, "isEnd": compose.event == "end" ? true : nil,
                "closes": compose.event == "end" && (form.text("audience") ?? "all") == "all" ? true : nil,
                "approve": time == nil ? "Approve and send" : "Approve", "card": await ComposeCheck.card(form, visit),
                "payload": schedule.push.object.map { JSONLayout.lines($0.value) }, "path": path(id),
                "mostReason": Approval.mostReason,
                "push": "/console/pushes/\(Form.encoded(id))",
            ]))
    }

    static func path(_ id: String) -> String { "/console/schedules/\(Form.encoded(id))/approval" }

    /// The dry run of the publish as it was posted: it counts who would get it now.
    private static func check(
        _ schedule: ScheduleAnswer, _ visit: Visit
    ) async -> (PreviewAnswer?, warnings: [String], problem: String?) {
        let answer = await visit.answer("POST", "/api/push/validate", document: schedule.push.bytes)
        guard (200..<300).contains(answer.status), let checked = try? DryRunAnswer(answer: answer.body) else {
            return (nil, [], ConsoleFailure(answer).message)
        }
        return (checked.pushes.first, (checked.warned.warnings ?? []).map(ComposeCheck.words), nil)
    }

    static func decide(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("schedule")
        let approves = visit.form["to"] == "approve"
        let path = "/api/schedules/\(Form.encoded(id))/\(approves ? "approve" : "reject")"
        let answer: ScheduleAnswer = try ScheduleAnswer(
            answer: await visit.call(
                "POST", path,
                .fields([
                    "request": .string(visit.form["request"]),
                    "reason": approves ? nil : visit.form.text("reason").map(JSON.string),
                ])))
        let push = "/console/pushes/\(Form.encoded(answer.pushIDs.first ?? id))"
        return visit.redirect(push, approves ? .approved : .rejected)
    }
}
