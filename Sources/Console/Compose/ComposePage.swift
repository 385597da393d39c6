import Answers
import LiveActivity
import Store
import StrictJSON

/// Compose: from the fields to a preview, a question that says how many lock screens will light, and the publish.
enum ComposePage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        var form = Form()
        form["name"] = visit.query["name"]
        form["event"] = visit.query.text("event") ?? "update"
        form["alert_sound"] = "on"
        if let title = visit.query.text("template") {
            let templates = try await templates(visit)
            if let found = templates.first(where: { $0.title == title }),
                let body = try? JSONDocument(found.body).root.object()
            {
                form = Form()
                for (key, value) in body.members { form[key] = (try? value.string()) ?? "" }
            }
        } else if let schedule = visit.query.text("schedule") {
            let copied = CopiedPush(try await scheduled(schedule, visit))
            form = copied.form
            form["schedule"] = schedule
            return try await page(visit, form, missing: copied.missing)
        } else if let push = visit.query.text("push") {
            let copied = try await again(push, visit)
            return try await page(visit, copied.form, missing: copied.missing)
        }
        return try await page(visit, form)
    }

    private static func scheduled(_ id: String, _ visit: Visit) async throws -> ScheduleAnswer {
        try await visit.get("/api/schedules/\(Form.encoded(id))")
    }

    /// The fields of a push that was sent or is scheduled, to send it again with changes.
    private static func again(_ push: String, _ visit: Visit) async throws -> CopiedPush {
        let path = "/api/push/\(Form.encoded(push))"
        let ledger: LedgerAnswer = try await visit.get(path)
        // Until its time, a schedule alone has the push.
        guard ledger.state != "scheduled" else {
            var copied = CopiedPush(try await scheduled(push, visit))
            copied.form["send_at"] = ""
            return copied
        }
        return CopiedPush(ledger, try await visit.find(path + "/content"))
    }

    /// A button of the form was pressed.
    static func submit(_ visit: Visit) async throws -> ConsoleResponse {
        var form = visit.form
        let compose = ComposeForm(form, now: visit.now)
        let activity: ActivityAnswer? = try? await visit.find("/api/activities/\(Form.encoded(compose.name))")
        if let fields = await SchemaFields.find(visit, compose, known: activity?.attributesType),
            let state = fields.applied(form)
        {
            form["state"] = state
        }
        switch form["action"] {
        case "preview": return try await page(visit, form, check: await check(form, visit, counts: true))
        case "keep": return try await keep(visit, form)
        case "publish": return try await ask(visit, form)
        default: return try await page(visit, form)
        }
    }

    /// The preview alone, for the script.
    static func check(_ visit: Visit) async throws -> ConsoleResponse {
        let result = await check(visit.form, visit, counts: false)
        return .page(visit.console.templates.render("check", result.values))
    }

    /// The answer of a dry run of the form.
    private struct Check {
        var values: Values
        var field: String?
        var message: String?
        var reach: ReachText?

        init(values: Values) { self.values = values }

        init(refused message: String, field: String?) {
            values = ["problem": problem(message, field)]
            (self.field, self.message) = (field, message)
        }
    }

    /// An error with the title of its field.
    private static func problem(_ message: String, _ field: String?) -> String {
        field.flatMap { titles[$0] }.map { "\($0): \(message)" } ?? message
    }

    private static func check(_ form: Form, _ visit: Visit, counts: Bool) async -> Check {
        let compose = ComposeForm(form, now: visit.now)
        let alert = compose.alert.flatMap { try? JSONDocument($0.bytes).root.object() }
        let card = Card(
            app: visit.app.rawValue, name: compose.name, state: compose.state, alert: alert,
            isEnd: compose.event == "end"
        ).values
        var check = Check(values: ["card": card])
        do {
            let push = try compose.push()
            if form.text("send_at") != nil, let time = try compose.sendAt(), time < visit.now {
                throw ComposeForm.Problem(field: "send_at", message: "is in the past")
            }
            let answer = try DryRunAnswer(
                answer: await visit.call("POST", "/api/push/validate", query: counts ? "" : "reach=false", push))
            if let first = answer.pushes.first {
                let (bytes, limit) = (first.payloadBytes, first.payloadLimit)
                let reach = ReachText(first)
                check.reach = reach
                check.values["bytes"] =
                    ["count": bytes, "limit": limit, "text": "\(Shown.count(bytes)) of \(Shown.count(limit)) bytes"]
                    as Values
                if counts {
                    let time = time(compose, visit)
                    check.values["reach"] = values([
                        "sentence": reach.sentence(compose, isScheduled: time != nil), "time": time,
                    ])
                }
            }
            check.values["warnings"] = answer.warned.warnings ?? []
        } catch let problem as ComposeForm.Problem {
            (check.field, check.message) = (problem.field, problem.message)
        } catch let failure as ConsoleFailure {
            (check.field, check.message) = (ComposeForm.field(ofPath: failure.path), failure.message)
        } catch {
            check.message = "An internal error occurred."
        }
        if let message = check.message { check.values["problem"] = problem(message, check.field) }
        return check
    }

    static let titles = [
        "name": "Name", "event": "Event", "audience_value": "Audience", "state": "Content state",
        "priority": "Priority", "alert_title": "Alert", "alert": "Alert", "stale_minutes": "Stale after",
        "relevance": "Relevance", "dismissal_minutes": "Leave on the lock screen",
        "attributes_type": "Attributes type", "attributes": "Attributes", "options": "Options", "send_at": "Send at",
    ]

    /// Fields that are folded away at first.
    private static let folded = ["send_at", "stale_minutes", "relevance", "dismissal_minutes", "options"]

    private static func time(_ compose: ComposeForm, _ visit: Visit) -> Values? {
        guard let time = try? compose.sendAt() else { return nil }
        return Shown.time(time, now: visit.now)
    }

    /// The question before a publish.
    private static func ask(_ visit: Visit, _ form: Form) async throws -> ConsoleResponse {
        let check = await check(form, visit, counts: true)
        let compose = ComposeForm(form, now: visit.now)
        guard check.message == nil, let reach = check.reach else {
            return try await page(visit, form, check: check, status: 422)
        }
        var fields = ComposeForm.fields.filter(form.has).map { ["name": $0, "value": form[$0]] as Values }
        // Minutes count from here, so that a second click sends the same body and is the same push.
        fields.append(["name": "at", "value": "\(compose.now)"])
        fields.append(["name": "key", "value": "console/\(ConsoleSession.random())"])
        let time = time(compose, visit)
        return visit.page(
            "publish", "Publish",
            values([
                "sentence": reach.sentence(compose, isScheduled: time != nil), "fields": fields,
                "card": check.values["card"], "warnings": check.values["warnings"], "name": compose.name,
                "event": compose.event,
                "priority": form.text("priority") ?? "10", "time": time,
                "audience": (try? compose.push()).flatMap { try? JSONDocument($0.bytes).root.object() }
                    .flatMap { $0["audience"] }.map(AudienceText.text),
                "bytes": check.values["bytes"], "none": reach.count == 0 && !reach.isBroadcast ? true : nil,
                "isEnd": compose.event == "end" && (form.text("audience") ?? "all") == "all" ? true : nil,
                "obstacles": await visit.obstacles(compose.name), "isChange": compose.schedule == nil ? nil : true,
            ]))
    }

    /// The confirmed publish. A second click has the same key, so it is the same push.
    static func publish(_ visit: Visit) async throws -> ConsoleResponse {
        let compose = ComposeForm(visit.form, now: visit.now)
        do {
            let push = try compose.push()
            if let schedule = compose.schedule { return try await change(schedule, push, compose, visit) }
            guard let time = try compose.sendAt() else {
                let answer = try await visit.call("POST", "/api/push", push, key: visit.form.text("key"))
                let id = try AcceptedAnswer(answer: answer).pushIDs.first ?? ""
                return visit.redirect("/console/pushes/\(id)")
            }
            let body = scheduleBody(push, at: time)
            let answer = try await visit.call("POST", "/api/schedules", body, key: visit.form.text("key"))
            guard visit.session.identity.namePrefix == nil else {
                let id = try SchedulesAnswer(answer: answer).scheduleIDs.first ?? ""
                return visit.redirect("/console/pushes/\(id)")
            }
            return visit.redirect("/console/schedules", .scheduled)
        } catch let problem as ComposeForm.Problem {
            return try await page(
                visit, visit.form, check: Check(refused: problem.message, field: problem.field), status: 422)
        } catch let failure as ConsoleFailure {
            let check = Check(refused: failure.message, field: ComposeForm.field(ofPath: failure.path))
            return try await page(visit, visit.form, check: check, status: failure.status)
        }
    }

    private static func scheduleBody(_ push: JSON, at time: Int64) -> JSON {
        ["schedule": ["scheduled_time": .string(TimeText.plainText(time))], "push": push]
    }

    /// Puts the push in place of the schedule's. It keeps its id, and a second click puts the same again.
    private static func change(
        _ schedule: String, _ push: JSON, _ compose: ComposeForm, _ visit: Visit
    ) async throws -> ConsoleResponse {
        guard let time = try compose.sendAt() else {
            throw ComposeForm.Problem(field: "send_at", message: "is required: the schedule waits for its time")
        }
        try await visit.call("PUT", "/api/schedules/\(Form.encoded(schedule))", scheduleBody(push, at: time))
        return visit.redirect("/console/pushes/\(Form.encoded(schedule))", .scheduleChanged)
    }

    /// Templates are for all names.
    private static func templates(_ visit: Visit) async throws -> [(title: String, body: [UInt8])] {
        guard visit.session.identity.namePrefix == nil else { return [] }
        return try await visit.console.store.console.templates(visit.app)
    }

    private static func keep(_ visit: Visit, _ form: Form) async throws -> ConsoleResponse {
        if let refusal = visit.session.identity.refusal(.publish, forAllNames: true) { throw refusal }
        guard let title = form.text("template_title"), title.utf8.count <= 100 else {
            let problem = "A template needs a title of 100 characters at most."
            return try await page(visit, form, check: Check(values: ["problem": problem]), status: 422)
        }
        let kept = ComposeForm.fields.filter { !["send_at", "zone", "schedule"].contains($0) && form.has($0) }
        let body = JSON.object(kept.map { JSON.Member($0, .string(form[$0])) })
        guard try await visit.console.store.console.keep(visit.app, template: title, body.bytes) else {
            let problem = "There are \(ConsoleStore.mostTemplates) templates. Remove one first."
            return try await page(visit, form, check: Check(values: ["problem": problem]), status: 409)
        }
        return visit.redirect("/console/templates", .kept)
    }

    private static func page(
        _ visit: Visit, _ form: Form, check given: Check? = nil, missing: [String] = [], status: Int = 200
    ) async throws -> ConsoleResponse {
        var form = form
        let compose = ComposeForm(form, now: visit.now)
        let activity: ActivityAnswer? =
            compose.name.isEmpty ? nil : try? await visit.find("/api/activities/\(Form.encoded(compose.name))")
        let last = activity?.lastContentState?.contentState.value
        if !form.has("state"), let last { form["state"] = JSONLayout.lines(last) }
        if !form.has("state") { form["state"] = "{\n  \n}" }
        let fields = await SchemaFields.find(visit, compose, known: activity?.attributesType)
        let state = ComposeForm(form, now: visit.now).state
        let templates = try await templates(visit)
        var shown: Values = [:]
        for field in ComposeForm.fields { shown[field] = form[field] }
        shown["alert_sound"] = form.has("alert_sound") ? true : nil
        for field in ["alert", "schedule"] where form.text(field) == nil { shown[field] = nil }
        // Without a script, and where a push is copied, the time is UTC.
        shown["isUTC"] = form.text("zone") == nil ? true : nil
        if !missing.isEmpty { shown["missing"] = missing.joined(separator: ", ") }
        shown["events"] = Options.list(["update", "start", "end"], chosen: compose.event)
        shown["audiences"] = Options.list(ComposeForm.audiences, chosen: form.text("audience") ?? "all")
        shown["priorities"] = Options.list(
            [("10", "10: at once"), ("5", "5: saves the battery")], chosen: form.text("priority") ?? "10")
        shown["fields"] = fields?.shown(state, typed: form)
        shown["type"] = fields?.type
        shown["templates"] = templates.map { template in
            ["title": template.title, "path": "/console/compose" + Form.query(["template": template.title])] as Values
        }
        shown["hasTemplates"] = templates.isEmpty ? nil : true
        shown["obstacles"] = await visit.obstacles(compose.name)
        if let activity {
            shown["followers"] = Shown.count(activity.tokens, "follower", "followers")
            shown["closed"] = activity.ended && compose.event != "start" ? true : nil
        }
        var drawn: Check
        if let given { drawn = given } else { drawn = Check(values: ["card": card(form, visit)]) }
        if drawn.values["card"] == nil { drawn.values["card"] = card(form, visit) }
        // Above the form, and not beside it too.
        shown["checked"] = drawn.values.filter { $0.key != "problem" }
        if let field = drawn.field {
            shown["wrong-\(field == "alert_title" && form.text("alert") != nil ? "alert" : field)"] = true
        }
        let isSet = Self.folded.contains { !form[$0].isEmpty || $0 == drawn.field }
        shown["isOpen"] = isSet ? true : nil
        shown["refusal"] = drawn.values["problem"]
        return visit.page("compose", "Compose", shown, status: status)
    }

    private static func card(_ form: Form, _ visit: Visit) -> Values {
        let compose = ComposeForm(form, now: visit.now)
        let alert = compose.alert.flatMap { try? JSONDocument($0.bytes).root.object() }
        return Card(
            app: visit.app.rawValue, name: compose.name, state: compose.state, alert: alert,
            isEnd: compose.event == "end"
        ).values
    }
}
