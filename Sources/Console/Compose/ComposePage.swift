import Answers
import LiveActivity
import StrictJSON

/// The form of a room: from what it is filled, and what its buttons do. Each button keeps the draft and leads to a page
/// with an address.
enum ComposePage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        if let room = try await room(visit) { return room }
        if let draft = try await visit.draft() {
            var check = await check(visit, draft)
            if let problem = draft.problem { check.refuse(problem) }
            return try await RoomPage.page(visit, draft, check, status: draft.problem?.status ?? 200)
        }
        var form = Form()
        form["name"] = visit.query["name"]
        form["event"] = visit.query.text("event") ?? "update"
        form["alert_sound"] = "on"
        var (missing, notes) = ([String](), [String]())
        if let title = visit.query.text("template") {
            let templates = try await TemplatesPage.templates(visit)
            if let found = templates.first(where: { $0.title == title }),
                let body = try? JSONDocument(found.body).root.object()
            {
                form = Form()
                for (key, value) in body.members { form[key] = (try? value.string()) ?? "" }
            }
        } else if let schedule = visit.query.text("schedule") {
            let copied = CopiedPush(try await scheduled(schedule, visit))
            (form, missing) = (copied.form, copied.missing)
            form["schedule"] = schedule
        } else if let held = visit.query.text("held"), let (page, place) = HeldPage.place(held) {
            let copied = try await page.copied(place, visit)
            (form, missing) = (copied.form, copied.missing)
            form["held"] = held
        } else if let push = visit.query.text("push") {
            let copied = try await again(push, visit)
            (form, missing, notes) = (copied.form, copied.missing, copied.notes)
        } else if let letter = visit.query.text("dead") {
            let copied = try await present(letter, visit)
            (form, missing, notes) = (copied.form, copied.missing, copied.notes)
        }
        // A draft that is gone keeps its address: the browser may have the text.
        let id = visit.query.text("draft").flatMap { Draft.isID($0) ? $0 : nil } ?? Draft.newID()
        return try await RoomPage.page(
            visit, Draft(id: id, form: form), ComposeCheck(), missing: missing, notes: notes)
    }

    /// The room of a name that somebody knows already. Nil: the address says more than a name, or nobody knows it.
    private static func room(_ visit: Visit) async throws -> ConsoleResponse? {
        guard let name = visit.query.name(),
            visit.query.fields.allSatisfy({ ["name", "event", "notice"].contains($0.name) }),
            let _: ActivityAnswer = try await visit.find("/api/activities/\(Form.encoded(name))")
        else { return nil }
        let rest = Form.query(["event": visit.query.text("event"), "notice": visit.query.text("notice")])
        return .redirect(RoomPage.path(name) + rest)
    }

    private static func check(_ visit: Visit, _ draft: Draft) async -> ComposeCheck {
        guard visit.query["look"] == "preview", draft.problem == nil else { return ComposeCheck() }
        return await ComposeCheck(draft.form, visit, counts: true)
    }

    private static func scheduled(_ id: String, _ visit: Visit) async throws -> ScheduleAnswer {
        try await visit.get("/api/schedules/\(Form.encoded(id))")
    }

    /// The fields of a push that was sent or is scheduled, to send it again with changes.
    private static func again(_ push: String, _ visit: Visit) async throws -> CopiedPush {
        let path = "/api/push/\(Form.encoded(push))"
        let ledger: LedgerAnswer = try await visit.get(path)
        let content: ContentAnswer? = try await visit.find(path + "/content")
        // Until its time, a schedule alone has the push.
        if content == nil, let schedule = try? await scheduled(push, visit) {
            var copied = CopiedPush(schedule)
            copied.form["send_at"] = ""
            copied.takeCondition()
            return copied
        }
        return CopiedPush(ledger, content)
    }

    /// The present state of the name for the devices that a dead letter keeps. A retry would send what the push said.
    private static func present(_ push: String, _ visit: Visit) async throws -> CopiedPush {
        let letter: DeadLetterAnswer = try await visit.get("/api/dead/\(Form.encoded(push))")
        var copied = try await again(push, visit)
        let name = try await visit.activity(letter.name)
        // A long list cannot be an audience of its own.
        let unlit: UnlitChannelsAnswer? =
            letter.kept > Audience.maximumLeaves
            ? nil : try await visit.find("/api/push/\(Form.encoded(push))/channels")
        copied.bringUpToDate(for: letter, name, unlit?.channels ?? [])
        return copied
    }

    /// A button of the form was pressed.
    static func submit(_ visit: Visit) async throws -> ConsoleResponse {
        var draft = Draft(sent: visit)
        var form = draft.form
        let compose = ComposeForm(form, now: visit.now)
        let overview = try await NameOverview(compose.name, visit, .present)
        if let fields = try await SchemaFields.find(visit, compose, known: overview.type),
            let state = fields.applied(form)
        {
            form["state"] = state
        }
        if Basis.press(visit.form["action"], &form, overview, now: visit.now), form["mine"] != "yes" {
            draft.form = form
            try await visit.keep(draft)
            return .redirect(draft.path())
        }
        draft.form = form
        for feature in ComposeFeature.ofFeatures where !feature.button.isEmpty {
            if let value = visit.form.text(feature.button) { return try await feature.press(value, draft, visit) }
        }
        switch visit.form["action"] {
        case "preview":
            try await visit.keep(draft)
            return .redirect(draft.path(look: "preview") + "#check")
        case "keep": return try await keep(visit, draft)
        case "discard":
            try await visit.drop(draft)
            return visit.redirect("/console/compose", .draftDropped)
        case "publish", "mine":
            draft.problem = await ComposeCheck(form, visit, counts: false).problem
            draft.ask(now: visit.now)
            try await visit.keep(draft)
            return .redirect(draft.problem == nil ? draft.path("/console/compose/publish") : draft.path())
        default:
            try await visit.keep(draft)
            return .redirect(draft.path())
        }
    }

    /// The preview alone, for the script, and the part of the name if that is another one. It keeps the draft.
    static func check(_ visit: Visit) async throws -> ConsoleResponse {
        var draft = Draft(sent: visit)
        var parts = Values()
        let compose = ComposeForm(draft.form, now: visit.now)
        let overview = try await NameOverview(compose.name, visit, .present)
        if draft.form["of"] != NamePart.subject(compose, overview, now: visit.now) {
            let part = try await NamePart(&draft.form, visit, overview)
            parts["part"] = part.shown
        }
        parts["moved"] = try await Basis.warning(draft.form, overview, visit)
        (parts["hasForm"], parts["seen"]) = (true, overview.seen(visit.now))
        if draft.form["room"] != compose.name, overview.isKnown {
            parts["room"] = try await RoomPage.parts(compose.name, visit)
        }
        // A form that nobody touched is no draft.
        if visit.form["untouched"] != "yes" { try await visit.keep(draft) }
        var checked = await ComposeCheck(draft.form, visit, counts: false).shown
        checked["card"] = await ComposeCheck.card(draft.form, visit, known: overview.type)
        parts["checked"] = checked
        return .page(visit.console.templates.render("compose-parts", parts))
    }

    private static func keep(_ visit: Visit, _ draft: Draft) async throws -> ConsoleResponse {
        var draft = draft
        let form = draft.form
        func refused(_ problem: String, _ status: Int) async throws -> ConsoleResponse {
            draft.problem = Draft.Problem(message: problem, status: status)
            try await visit.keep(draft)
            return .redirect(draft.path())
        }
        guard let title = form.text("template_title"), title.utf8.count <= 100 else {
            return try await refused("A template needs a title of 100 characters at most.", 422)
        }
        let kept = ComposeForm.fields.filter { !["send_at", "zone", "schedule", "held"].contains($0) && form.has($0) }
        let body = JSON.object(kept.map { JSON.Member($0, .string(form[$0])) })
        guard body.bytes.count <= TemplatesPage.mostBytes else {
            return try await refused("A template has \(TemplatesPage.mostBytes >> 10) KB at most.", 422)
        }
        try await TemplatesPage.check(title, body.bytes, visit)
        let isAnother = try await TemplatesPage.templates(visit).contains { $0.title == title && $0.body != body.bytes }
        let records = visit.console.gateway.records
        guard try await records.keep(visit.app, template: title, body.bytes) else {
            return try await refused("There are \(records.mostTemplates) templates. Remove one first.", 409)
        }
        return visit.redirect("/console/templates", isAnother ? .keptInPlace : .kept)
    }
}
