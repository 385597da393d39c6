import Answers
import LiveActivity
import StrictJSON

/// The question before a publish, which says how many lock screens will light, and the publish.
enum PublishPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        guard var draft = try await visit.draft() else { return visit.redirect("/console/compose", .draftGone) }
        if draft.form.text("key") == nil {
            // The script kept the draft after the button was pressed: its request was on the way already.
            draft.ask(now: visit.now)
            try await visit.keep(draft)
        }
        var form = draft.form
        let check = await ComposeCheck(form, visit, counts: true)
        guard check.problem == nil, let reach = check.reach else {
            draft.problem = check.problem
            try await visit.keep(draft)
            return .redirect(draft.path())
        }
        let compose = ComposeForm(form, now: visit.now)
        let time = (try? compose.sendAt()).flatMap { Shown.time($0, now: visit.now) }
        let isChange = compose.schedule != nil
        let overview = try await NameOverview(compose.name, visit, .present)
        let moved = time == nil && !isChange ? try await Basis.warning(form, overview, visit) : nil
        // Nothing is asked about, and the question shows the cards of now, so the publish comes after these.
        if moved == nil, let basis = Basis(form), haveSameBytes(basis.name, overview.name) {
            Basis(overview, now: visit.now).write(&form)
        }
        let isMine = moved != nil || form["mine"] == "yes"
        let held = compose.held?.page ?? check.held
        let change = change(form, overview, visit.now)
        var words = reach.words(compose, isScheduled: time != nil, isChange: isChange)
        if let change, let count = reach.count, count > 0, compose.event == "update", time == nil, !isChange {
            words.button = "Publish \(change) to \(count == 1 ? "1 phone" : "\(reach.number) phones")"
        }
        if isMine { words.button = words.button.replacing(/^Publish( all the same)?/, with: "Send mine:") }
        if let held { words.button = held.button }
        let undo = visit.console.undo.components.seconds
        let isLate = time == nil && !isChange && held == nil && !isMine
        var shown = try await said(form, compose, check, reach, overview, visit)
        shown.merge(
            values([
                "title": words.title, "button": words.button, "change": change, "moved": moved,
                "isMine": isMine ? true : nil, "time": time, "undo": undo > 0 && isLate ? undo : nil,
                "asks": held?.hint, "path": draft.path("/console/compose/publish"), "back": draft.path(),
                "fields": fields(form, compose, ["asks": check.held == nil ? "" : "yes", "mine": isMine ? "yes" : ""]),
            ])
        ) { $1 }
        return visit.page("publish", words.title, shown)
    }

    /// The form that the button posts.
    private static func fields(_ form: Form, _ compose: ComposeForm, _ more: KeyValuePairs<String, String>) -> [Values]
    {
        var fields = (ComposeForm.fields.filter(form.has) + Basis.fields).map { ($0, form[$0]) }
        // Minutes count from here, so that a second click sends the same body and is the same push.
        fields += [("at", "\(compose.now)"), ("key", form["key"])] + more.map { ($0.key, $0.value) }
        return fields.map { ["name": $0.0, "value": $0.1] }
    }

    /// The push in words and as a card, and what one should think of before.
    private static func said(
        _ form: Form, _ compose: ComposeForm, _ check: ComposeCheck, _ reach: ReachText, _ overview: NameOverview,
        _ visit: Visit
    ) async throws -> Values {
        var warnings = check.shown["warnings"] as? [String] ?? []
        if let other = form.text("written_for"), !haveSameBytes(other, compose.name) {
            warnings.insert("These values were written for \(other).", at: 0)
        }
        if let unusual = try await UsualReach.warning(reach, compose, visit) { warnings.insert(unusual, at: 0) }
        let isScheduled = (try? compose.sendAt()) != nil
        let waits = isScheduled ? nil : visit.statusStrip.waitsFor(compose.name)
        let push = (try? compose.push(on: visit.platforms)).flatMap { try? JSONDocument($0.bytes).root.object() }
        return values([
            "waits": waits,
            "sentence": reach.sentence(compose, isInside: isScheduled || waits != nil, isScheduled: isScheduled),
            "card": await ComposeCheck.card(form, visit, known: overview.type), "warnings": warnings,
            "name": compose.name,
            "event": compose.event, "priority": form.text("priority") ?? "10",
            "audience": push.flatMap { AudienceText.text($0, of: compose.event, in: visit.platforms) },
            "bytes": check.shown["bytes"], "none": reach.count == 0 && !reach.isBroadcast ? true : nil,
            "isEnd": compose.event == "end" ? true : nil,
            "closes": compose.closes(visit.platforms) ? true : nil,
        ])
    }

    /// `1 : 0 → 2 : 0`. Nil: there is nothing before, or it says the same.
    private static func change(_ form: Form, _ overview: NameOverview, _ now: Int64) -> String? {
        guard let before = overview.state(now).flatMap(Card.headline),
            let after = ComposeForm(form, now: now).state.flatMap(Card.headline), before != after
        else { return nil }
        return "\(before) → \(after)"
    }

    /// The confirmed publish. A second click has the same key, so it is the same push.
    static func publish(_ visit: Visit) async throws -> ConsoleResponse {
        var draft = Draft(sent: visit)
        let compose = ComposeForm(visit.form, now: visit.now)
        do {
            if compose.after != nil, compose.schedule == nil, compose.held == nil {
                let overview = try await NameOverview(compose.name, visit, .present)
                if try await Basis.warning(draft.form, overview, visit) != nil {
                    // Somebody published while the question stood here. It is asked anew, as another publish.
                    draft.ask(now: visit.now)
                    try await visit.keep(draft)
                    return .redirect(draft.path("/console/compose/publish"))
                }
            }
            let answer = try await publish(compose, visit)
            try await visit.drop(draft)
            return answer
        } catch is CancellationError {
            throw CancellationError()
        } catch let failure as ConsoleFailure where failure.isNewerPush {
            draft.ask(now: visit.now)
            try await visit.keep(draft)
            return .redirect(draft.path("/console/compose/publish"))
        } catch {
            draft.problem = await ComposeCheck.problem(error, compose, visit)
            try await visit.keep(draft)
            return .redirect(draft.path())
        }
    }

    private static func publish(_ compose: ComposeForm, _ visit: Visit) async throws -> ConsoleResponse {
        let push = try compose.push(after: compose.after, on: visit.platforms)
        if let (page, place) = compose.held {
            return try await page.change(place, push, compose.sendAt().map(TimeText.plainText), visit)
        }
        if let schedule = compose.schedule { return try await change(schedule, push, compose, visit) }
        let key = visit.form.text("key")
        let asks = visit.form["asks"] == "yes"
        if let time = try compose.sendAt() {
            let made = try await schedule(push, at: TimeText.plainText(time), key: key, visit)
            return waits(made.held, made.heldID, visit) ?? visit.redirect("/console/schedules", .scheduled)
        }
        // A publish that a feature holds does not also wait for the seconds in which it can be taken back. One that was
        // written beside somebody else's goes out on the state that its sender saw.
        guard visit.console.undo > .zero, !asks, visit.form["mine"] != "yes" else {
            let answer = try await visit.call("POST", "/api/push", push, key: key)
            let accepted = try AcceptedAnswer(answer)
            return waits(accepted.held, accepted.heldID, visit)
                ?? visit.redirect("/console/pushes/\(accepted.pushIDs.first ?? "")")
        }
        // The push waits as a schedule, which can be cancelled. A second click has to give the same time.
        let wanted = visit.now + visit.console.undo.milliseconds
        let due = if let key { try await visit.console.gateway.records.due(key, at: wanted) } else { wanted }
        let body: JSON = [
            "schedule": ["scheduled_time": .string(TimeText.text(due))], "name": .string(WaitingPush.undoLabel),
            "push": push,
        ]
        // To everybody it is a publish, and the wait is a part of it.
        let made = try SchedulesAnswer(await visit.call("POST", "/api/schedules", body, key: key, as: "publish"))
        return waits(made.held, made.heldID, visit)
            ?? visit.redirect("/console/pushes/\(made.scheduleIDs.first ?? "")")
    }

    private static func body(_ push: JSON, at time: String) -> JSON {
        ["schedule": ["scheduled_time": .string(time)], "push": push]
    }

    private static func schedule(
        _ push: JSON, at time: String, key: String?, _ visit: Visit
    ) async throws -> SchedulesAnswer {
        try SchedulesAnswer(await visit.call("POST", "/api/schedules", body(push, at: time), key: key))
    }

    /// The page of a publish that is held. Nil: it is not.
    private static func waits(_ held: String?, _ id: String?, _ visit: Visit) -> ConsoleResponse? {
        HeldPage.of(held).map { visit.redirect($0.path(id ?? ""), $0.notice) }
    }

    /// Puts the push in place of the schedule's. It keeps its id, and a second click puts the same again.
    private static func change(
        _ schedule: String, _ push: JSON, _ compose: ComposeForm, _ visit: Visit
    ) async throws -> ConsoleResponse {
        guard let time = try compose.sendAt() else {
            throw ComposeForm.Problem(field: "send_at", message: "is required: the schedule waits for its time")
        }
        let path = "/api/schedules/\(Form.encoded(schedule))"
        let made = try SchedulesAnswer(await visit.call("PUT", path, body(push, at: TimeText.plainText(time))))
        return waits(made.held, made.heldID, visit)
            ?? visit.redirect("/console/pushes/\(Form.encoded(schedule))", .scheduleChanged)
    }
}

/// Compares the reach of a push with the reach of the last pushes, because a wrong audience shows there first.
enum UsualReach {
    private static let pushes = 20
    /// So few devices are never unusual.
    private static let least = 100
    private static let factor = 10

    static func warning(_ reach: ReachText, _ compose: ComposeForm, _ visit: Visit) async throws -> String? {
        guard let count = reach.count, count >= least else { return nil }
        let query = Form.query(["limit": "\(pushes)", "name": compose.name, "event": compose.event])
        let last: HistoryAnswer? = try await visit.allowed("/api/pushes", query: query)
        return last.flatMap { text(count, $0.pushes.map(\.targets)) }
    }

    /// - Parameter last: the targets of the last pushes
    static func text(_ count: Int, _ last: [Int]) -> String? {
        let last = last.filter { $0 > 0 }.sorted()
        guard count >= least, last.count >= 3 else { return nil }
        let usual = last[last.count / 2]
        guard count / factor >= usual else { return nil }
        let (times, devices) = (Shown.count(count / usual), Shown.count(usual, "device", "devices"))
        return "This is \(times) times the usual: half of the last \(last.count) pushes of this name"
            + " had at most \(devices)."
    }
}
