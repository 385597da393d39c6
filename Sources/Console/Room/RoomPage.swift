import Answers
import LiveActivity
import StrictJSON

/// The room of a name: what its cards show now, the form of what comes next, what waits, and what was. All publishing
/// happens here. Without a name it is the form alone.
enum RoomPage {
    static func path(_ name: String) -> String { "/console/names/\(Form.encoded(name))" }

    /// The form's fields that are folded away at first.
    private static let folded = ["send_at", "stale_minutes", "relevance", "dismissal_minutes", "options"]

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let name = visit.parameter("name")
        let overview = try await NameOverview(name, visit, .timeline)
        guard overview.isKnown else {
            // The name may be another credential's, or Redis may be away.
            let _: ActivityAnswer? = try await visit.find("/api/activities/\(Form.encoded(name))")
            throw ConsoleFailure(404, "The name has no followers and no pushes. Check its spelling.")
        }
        guard visit.session.identity.scopes.opens(.publish) else {
            return visit.page("room", name, try await room(overview, visit))
        }
        var form = Form()
        form["name"] = name
        let isClosed = overview.activity?.ended == true
        form["event"] = visit.query.text("event") ?? (isClosed ? "start" : "update")
        form["alert_sound"] = "on"
        if form["event"] == "start" { form["attributes_type"] = overview.type ?? "" }
        return try await page(visit, Draft(id: Draft.newID(), form: form), ComposeCheck(), overview: overview)
    }

    /// The page with a form. A draft has the name of its form.
    static func page(
        _ visit: Visit, _ draft: Draft, _ check: ComposeCheck, missing: [String] = [], notes: [String] = [],
        status: Int = 200, overview known: NameOverview? = nil
    ) async throws -> ConsoleResponse {
        var form = draft.form
        // Somebody may have published since a question of this draft, so what it decided then is over.
        form["mine"] = ""
        let name = ComposeForm(form, now: visit.now).name
        let overview = if let known { known } else { try await NameOverview(name, visit, .timeline) }
        let wrong = check.problem?.field
        let part = try await NamePart(&form, visit, overview, wrong: wrong)
        let compose = ComposeForm(form, now: visit.now)
        var shown = overview.isKnown ? try await room(overview, visit) : [:]
        shown.merge(fields(draft, form, compose, visit)) { $1 }
        shown["part"] = part.shown
        shown["seen"] = overview.seen(visit.now)
        shown["moved"] = Basis.warning(form, part.fields, overview, now: visit.now)
        if !missing.isEmpty { shown["missing"] = missing.joined(separator: ", ") }
        shown["notes"] = notes
        shown.merge(try await lists(draft, visit)) { $1 }
        var features: [Values] = []
        for feature in ComposeFeature.ofFeatures {
            let markup = await feature.markup(visit, compose.name)
            if !markup.isEmpty { features.append(["markup": markup]) }
        }
        shown["features"] = features
        shown["obstacle"] = visit.statusStrip.obstacle(of: compose.name)
        // Above the form, and not beside it too. The state may have been filled in meanwhile.
        var checked = check.shown.filter { $0.key != "problem" }
        checked["card"] = await ComposeCheck.card(form, visit, known: overview.type)
        shown["checked"] = checked
        if let wrong { shown["wrong-\(wrong == "alert_title" && form.text("alert") != nil ? "alert" : wrong)"] = true }
        let isSet = folded.contains { !form[$0].isEmpty || $0 == wrong }
        shown["isOpen"] = isSet ? true : nil
        shown["refusal"] = check.shown["problem"]
        let title = overview.isKnown ? name : "Compose"
        return visit.page("room", title, shown, status: status)
    }

    private static func fields(_ draft: Draft, _ form: Form, _ compose: ComposeForm, _ visit: Visit) -> Values {
        var shown: Values = ["draft": draft.id, "draftPath": draft.path(), "hasForm": true]
        for field in ComposeForm.fields { shown[field] = form[field] }
        shown["template_title"] = form["template_title"]
        shown["alert_sound"] = form.has("alert_sound") ? true : nil
        for field in ["alert", "schedule", "held"] where form.text(field) == nil { shown[field] = nil }
        // If the browser runs no script, and in a copied push, the time is UTC.
        shown["isUTC"] = form.text("zone") == nil ? true : nil
        shown["events"] = Options.list(["update", "start", "end"], chosen: compose.event)
        shown["audiences"] = Options.list(ComposeForm.audiences, chosen: form.text("audience") ?? "all")
        shown["platforms"] = compose.platformChoices(of: visit.platforms)
        shown["hasPlatforms"] = shown["platforms"] == nil ? nil : true
        shown["priorities"] = Options.list(
            [("10", "10: at once"), ("5", "5: saves the battery")], chosen: form.text("priority") ?? "10")
        shown["savedAt"] = Shown.time(draft.savedAt, now: visit.now)
        return shown
    }

    /// The templates and the other drafts.
    private static func lists(_ draft: Draft, _ visit: Visit) async throws -> Values {
        let templates = try await TemplatesPage.templates(visit)
        let drafts = try await visit.drafts().filter { $0.id != draft.id }
        return values([
            "templates": templates.map { template in
                ["title": template.title, "path": "/console/compose" + Form.query(["template": template.title])]
                    as Values
            }, "hasTemplates": templates.isEmpty ? nil : true,
            "drafts": drafts.map { other in
                values(["title": other.text, "path": other.path, "at": Shown.time(other.savedAt, now: visit.now)])
            }, "hasDrafts": drafts.isEmpty ? nil : true,
        ])
    }
}

/// The parts of a room that live.
extension RoomPage {
    static func live(_ visit: Visit) async throws -> ConsoleResponse {
        let name = visit.parameter("name")
        let contents = SaidPush.Contents()
        return try await visit.watch("room \(name)") { visit in
            let overview = try await NameOverview(name, visit, .timeline, contents)
            // Without Redis nothing of it is known.
            guard overview.isKnown else { return .unknown }
            return .html(visit.console.templates.render("room-live", try await room(overview, visit, isLive: true)))
        }
    }

    /// For a form whose name somebody changed.
    static func parts(_ name: String, _ visit: Visit) async throws -> Values {
        try await room(NameOverview(name, visit, .timeline), visit)
    }

    static func room(_ overview: NameOverview, _ visit: Visit, isLive: Bool = false) async throws -> Values {
        let now = isLive ? nil : visit.now
        let name = overview.name
        let open = overview.waiting.filter { !$0.isConflict || !$0.isOver(overview.shownState) }
        let waiting = open.map { waiting in
            (
                waiting,
                waiting.shown(
                    now: now, followers: overview.activity?.tokens, undo: visit.console.undo,
                    before: overview.shownState)
            )
        }
        let isTop: (WaitingPush) -> Bool = { $0.isConflict || $0.isSoon(visit.now) }
        let later = waiting.filter { !isTop($0.0) }.map(\.1)
        let scopes = visit.session.identity.scopes
        return values([
            "name": name, "path": path(name), "isRoom": true, "isSent": visit.query.has("sent") ? true : nil,
            "soon": waiting.filter { isTop($0.0) }.map(\.1),
            "later": later, "hasLater": later.isEmpty ? nil : true,
            "now": try await present(overview, visit, now: now), "days": days(overview, now: now),
            "isWithoutPushes": overview.pushes.isEmpty ? true : nil,
            "more": overview.hasMore ? "/console/pushes" + Form.query(["name": name]) : nil,
            "links": NameLink.ofFeatures.map { $0.values(name) },
            // A live part has the rights of its reader too.
            "mayPublish": scopes.opens(.publish) ? true : nil, "mayTrack": scopes.contains(.track) ? true : nil,
            "mayOperate": scopes.contains(.operate) ? true : nil,
        ])
    }

    /// The card as it is on the screens, and what is known of the name.
    private static func present(_ overview: NameOverview, _ visit: Visit, now: Int64?) async throws -> Values {
        let activity = overview.activity
        let shown = overview.shown
        let state = overview.shownState
        let pauses: PausesAnswer? = try await visit.allowed("/api/pauses")
        let isClosed = activity?.ended == true
        let row = shown.map { PushValues(ledger: $0.ledger, now: now).row }
        return sealed([
            "after": overview.after(visit.now), "seen": overview.seen(visit.now),
            "state": state.map { JSONLayout.lines($0) },
            "card": state == nil
                ? nil
                : Card(
                    app: visit.app.rawValue, name: overview.name, state: state, isEnd: isClosed,
                    drawing: await visit.drawing(overview.type), type: overview.type, now: now ?? 0
                ).values,
            "push": shown.map { shown in
                sealed([
                    "path": shown.path, "who": shown.who, "whoID": Caller.id(shown.ledger.by?.whoID),
                    "at": Shown.time(shown.ledger.createdAt, now: now), "state": row?["state"], "mood": row?["mood"],
                    "delivered": Shown.count(shown.ledger.delivered, "phone", "phones"),
                    "missed": shown.ledger.missed > 0 ? Shown.count(shown.ledger.missed) : nil,
                ])
            },
            "elsewhere": overview.elsewhere.map { push in
                sealed([
                    "path": push.path, "isTest": push.isTest ? true : nil,
                    "headline": push.headline ?? "something else",
                    "audience": push.content.flatMap { AudienceText.text($0, of: push.ledger.event) },
                    "at": Shown.time(push.ledger.createdAt, now: now),
                ])
            }, "hasElsewhere": overview.elsewhere.isEmpty ? nil : true,
            "followers": Shown.count(activity?.tokens ?? 0, "phone follows", "phones follow"),
            "closed": isClosed ? true : nil, "type": activity?.attributesType,
            "paused": pauses?.paused.contains { $0.name == overview.name } == true ? true : nil,
            "broadcast": activity?.broadcast.map { channel in
                sealed(["state": channel.state, "channel": channel.channel, "error": channel.error])
            }, "noBroadcast": activity?.broadcast == nil ? true : nil,
            "endsAt": Shown.time(activity?.automaticEndAt, now: now),
        ])
    }

    /// The pushes that went out, the newest day first.
    private static func days(_ overview: NameOverview, now: Int64?) -> [Values] {
        var days: [(day: String, entries: [Values])] = []
        for push in overview.pushes {
            let day = String(push.ledger.createdAt.prefix(10))
            if days.last?.day != day { days.append((day, [])) }
            var entry = PushValues(ledger: push.ledger, now: now).row
            let ledger = push.ledger
            let isForSome = !push.isForEveryone && !push.isTest
            let content = isForSome ? push.content : nil
            entry.merge(
                sealed([
                    "headline": push.headline, "alert": push.alert.flatMap(Card.alertTitle), "who": push.who,
                    "isTest": push.isTest ? true : nil, "missed": ledger.missed > 0 ? Shown.count(ledger.missed) : nil,
                    "audience": content.flatMap { AudienceText.text($0, of: ledger.event) },
                ])
            ) { $1 }
            days[days.count - 1].entries.append(entry)
        }
        return days.map { ["day": $0.day, "entries": $0.entries] }
    }
}

/// The buttons of an operator.
extension RoomPage {
    /// A button of the room was pressed: a pause, or the name's broadcast channel.
    static func change(_ visit: Visit) async throws -> ConsoleResponse {
        switch visit.form["to"] {
        case "pause", "resume": try await pause(visit)
        case "create", "delete": try await broadcast(visit)
        default: throw ConsoleFailure(422, "The form has no button of this page.")
        }
    }

    private static func pause(_ visit: Visit) async throws -> ConsoleResponse {
        let name = visit.parameter("name")
        let isPause = visit.form["to"] == "pause"
        if isPause {
            let sentence =
                "Within a second nothing of \(name) is sent, until you resume it. Pushes are accepted and kept."
            if let page = visit.confirmation("Pause this name?", sentence, button: "Pause", back: path(name)) {
                return page
            }
        }
        try await visit.call("POST", isPause ? "/api/pause" : "/api/resume", ["name": .string(name)])
        return visit.redirect(path(name), isPause ? .paused : .resumed)
    }

    private static func broadcast(_ visit: Visit) async throws -> ConsoleResponse {
        let name = visit.parameter("name")
        let isDeletion = visit.form["to"] == "delete"
        if isDeletion {
            let sentence = "Devices that subscribe to the channel get nothing of \(name) any more."
            let title = "Delete the broadcast channel?"
            if let page = visit.confirmation(title, sentence, button: "Delete", back: path(name)) { return page }
        }
        let call = "/api/activities/\(Form.encoded(name))/broadcast"
        let answer = await visit.answer(isDeletion ? "DELETE" : "PUT", call, query: "wait=5")
        guard (200..<300).contains(answer.status) else { throw ConsoleFailure(answer) }
        let done: Notice = isDeletion ? .broadcastDiscarded : .broadcastWanted
        return visit.redirect(path(name), answer.status == 202 ? .waiting : done)
    }
}

/// A link to a feature's page about a name, below the name's pushes.
struct NameLink: Sendable {
    var title: String
    var path: @Sendable (String) -> String

    func values(_ name: String) -> Values { ["title": title, "path": path(name)] }
}
