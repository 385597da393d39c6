import Answers
import LiveActivity
import StrictJSON

/// Compose: the fields, a preview, and what is wrong. Each button keeps the draft and leads to a page with an address.
enum ComposePage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        if let draft = try await visit.draft() {
            var check = await check(visit, draft)
            if let problem = draft.problem { check.refuse(problem) }
            return try await page(visit, draft, check, status: draft.problem?.status ?? 200)
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
            (form, missing) = (copied.form, copied.missing)
        } else if let letter = visit.query.text("dead") {
            let copied = try await present(letter, visit)
            (form, notes) = (copied.form, copied.notes)
        }
        // A draft that is gone keeps its address: the browser may have the text.
        let id = visit.query.text("draft").flatMap { Draft.isID($0) ? $0 : nil } ?? Draft.newID()
        return try await page(visit, Draft(id: id, form: form), ComposeCheck(), missing: missing, notes: notes)
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
            return copied
        }
        return CopiedPush(ledger, content)
    }

    /// The present state of the name for the devices that a dead letter keeps. A retry would send what the push said.
    private static func present(_ push: String, _ visit: Visit) async throws -> CopiedPush {
        let letter: DeadLetterAnswer = try await visit.get("/api/dead/\(Form.encoded(push))")
        var copied = try await again(push, visit)
        let name: ActivityAnswer? = try? await visit.find("/api/activities/\(Form.encoded(letter.name))")
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
        let activity: ActivityAnswer? = try? await visit.find("/api/activities/\(Form.encoded(compose.name))")
        if let fields = await SchemaFields.find(visit, compose, known: activity?.attributesType),
            let state = fields.applied(form)
        {
            form["state"] = state
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
        case "publish":
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
        if draft.form["of"] != NamePart.subject(ComposeForm(draft.form, now: visit.now)) {
            parts["part"] = await NamePart(&draft.form, visit).shown
        }
        // Without Redis the check still says what the form itself tells.
        try? await visit.keep(draft)
        var checked = await ComposeCheck(draft.form, visit, counts: false).shown
        checked["card"] = await ComposeCheck.card(draft.form, visit)
        parts["checked"] = checked
        return .page(visit.console.templates.render("compose-parts", parts))
    }

    /// Fields that are folded away at first.
    private static let folded = ["send_at", "stale_minutes", "relevance", "dismissal_minutes", "options"]

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

    private static func page(
        _ visit: Visit, _ draft: Draft, _ check: ComposeCheck, missing: [String] = [], notes: [String] = [],
        status: Int = 200
    ) async throws -> ConsoleResponse {
        var form = draft.form
        let wrong = check.problem?.field
        let part = await NamePart(&form, visit, wrong: wrong)
        let compose = ComposeForm(form, now: visit.now)
        var check = check
        // The state may have been filled in meanwhile.
        check.shown["card"] = await ComposeCheck.card(form, visit)
        var shown: Values = ["part": part.shown, "draft": draft.id, "path": draft.path()]
        for field in ComposeForm.fields { shown[field] = form[field] }
        shown["template_title"] = form["template_title"]
        shown["alert_sound"] = form.has("alert_sound") ? true : nil
        for field in ["alert", "schedule", "held"] where form.text(field) == nil { shown[field] = nil }
        // If the browser runs no script, and in a copied push, the time is UTC.
        shown["isUTC"] = form.text("zone") == nil ? true : nil
        if !missing.isEmpty { shown["missing"] = missing.joined(separator: ", ") }
        shown["notes"] = notes
        shown["events"] = Options.list(["update", "start", "end"], chosen: compose.event)
        shown["audiences"] = Options.list(ComposeForm.audiences, chosen: form.text("audience") ?? "all")
        shown["priorities"] = Options.list(
            [("10", "10: at once"), ("5", "5: saves the battery")], chosen: form.text("priority") ?? "10")
        let templates = try await TemplatesPage.templates(visit)
        shown["templates"] = templates.map { template in
            ["title": template.title, "path": "/console/compose" + Form.query(["template": template.title])] as Values
        }
        shown["hasTemplates"] = templates.isEmpty ? nil : true
        let drafts = try await visit.drafts().filter { $0.id != draft.id }
        shown["drafts"] = drafts.map { other in
            values(["title": other.text, "path": other.path, "at": Shown.time(other.savedAt, now: visit.now)])
        }
        shown["hasDrafts"] = drafts.isEmpty ? nil : true
        shown["savedAt"] = Shown.time(draft.savedAt, now: visit.now)
        var features: [Values] = []
        for feature in ComposeFeature.ofFeatures {
            let markup = await feature.markup(visit, compose.name)
            if !markup.isEmpty { features.append(["markup": markup]) }
        }
        shown["features"] = features
        shown["obstacle"] = visit.standing.obstacle(of: compose.name)
        // Above the form, and not beside it too.
        shown["checked"] = check.shown.filter { $0.key != "problem" }
        if let wrong { shown["wrong-\(wrong == "alert_title" && form.text("alert") != nil ? "alert" : wrong)"] = true }
        let isSet = Self.folded.contains { !form[$0].isEmpty || $0 == wrong }
        shown["isOpen"] = isSet ? true : nil
        shown["refusal"] = check.shown["problem"]
        return visit.page("compose", "Compose", shown, status: status)
    }
}
