import Answers
import LiveActivity
import StrictJSON

/// One push: its ledger live, what it showed, which devices it did not reach, and what can be done about that.
enum PushPage {
    /// Devices on the page at first, and when all are asked for.
    private static let fewChannels = 20
    private static let mostChannels = 1_000

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("push")
        let path = "/api/push/\(Form.encoded(id))"
        var push = PushValues(ledger: try await visit.get(path), now: visit.now)
        let name = push.ledger.name
        let content: ContentAnswer? = try await visit.find(path + "/content")
        let isScheduled = push.state == "scheduled"
        // Until its time the schedule has the push as it was published. One that never went out has it there too.
        let isUnsent = isScheduled || push.isFinal && content == nil
        let schedule: ScheduleAnswer? =
            isUnsent ? try await visit.allowed("/api/schedules/\(Form.encoded(id))") : nil
        if isScheduled, let schedule, isSoon(schedule, visit.now) {
            return visit.redirect(RoomPage.path(name) + Form.query(["sent": id]), Notice.of(visit.query["notice"]))
        }
        push.expected = await visit.expected(push.ledger)
        var shown = push.page
        shown["isScheduled"] = isScheduled ? true : nil
        shown["canCancel"] = push.isFinal || isScheduled ? nil : true
        shown["isLive"] = push.isFinal ? nil : true
        shown["isConflict"] = push.isFinal && push.ledger.errors["Conflict"] != nil ? true : nil
        if isScheduled { shown["due"] = Shown.time(schedule?.schedule.scheduledTime, now: visit.now) }
        let waiting = schedule.flatMap { isScheduled || $0.isRefused ? $0 : nil }
        if waiting != nil { shown["isUnsent"] = true }
        if !push.isFinal { shown["obstacle"] = visit.statusStrip.obstacle(of: name) }
        shown.merge(try await said(push, content, waiting, visit)) { $1 }
        shown.merge(try await missed(push, visit)) { $1 }
        shown["by"] = push.ledger.by.map { "\(Caller.text($0.credential, $0.who)) from \($0.address)" }
        shown["byID"] = Caller.id(push.ledger.by?.whoID)
        var facts: [Values] = []
        for find in PushFact.ofFeatures { facts += await find(visit, push.ledger).map { $0.values(now: visit.now) } }
        shown["facts"] = facts
        shown["what"] = Shown.capitalized(push.ledger.event)
        if let dead: DeadLetterAnswer = try await visit.find("/api/dead/\(Form.encoded(id))") {
            shown["dead"] = values([
                "tokens": Shown.count(dead.tokens, "device", "devices"), "kept": Shown.count(dead.kept),
                "canRetry": dead.kept > 0 ? true : nil, "stopped": dead.stopped,
            ])
        }
        return visit.page("push", "\(Shown.capitalized(push.ledger.event)) of \(name)", shown)
    }

    /// The content of the push, and its audience.
    /// - Parameter waiting: the schedule that has the push as it was published. Nil: it went out.
    private static func said(
        _ push: PushValues, _ content: ContentAnswer?, _ waiting: ScheduleAnswer?, _ visit: Visit
    ) async throws -> Values {
        let payload = content?.payload.object
        let body = waiting?.push.object
        let sent = body?.liveActivity ?? payload?.object("aps")
        let text = waiting?.push.value ?? payload?.value
        var shown = values([
            "payload": text.map { JSONLayout.lines($0) }, "bytes": content.map { Shown.count($0.payloadBytes) },
            "audience": body.flatMap { AudienceText.text($0, of: push.ledger.event, in: visit.platforms) }
                ?? content.flatMap { AudienceText.text($0, of: push.ledger.event) },
        ])
        guard text != nil else { return shown }
        let name = push.ledger.name
        var type = sent?.text("attributes_type") ?? sent?.text("attributes-type")
        if type == nil {
            type = try await SchemaFields.type(of: name, visit.activity(name), visit)
        }
        shown["card"] =
            Card(
                app: visit.app.rawValue, name: name, state: sent?["content_state"] ?? sent?["content-state"],
                alert: sent?.object("alert"), isEnd: push.ledger.event == "end", drawing: await visit.drawing(type),
                type: type, attributes: sent?.object("attributes"), now: visit.now
            ).values
        return shown
    }

    /// The devices that it did not reach.
    private static func missed(_ push: PushValues, _ visit: Visit) async throws -> Values {
        // The API answers all of them, so a long list is read only if it is asked for.
        let unreached = push.ledger.pruned + push.ledger.failed
        let asked = visit.query.text("device")
        let isLong = unreached > 2_000 && visit.query["channels"] != "all" && asked == nil
        let path = "/api/push/\(Form.encoded(push.id))/channels"
        let unlit: UnlitChannelsAnswer? = isLong ? nil : try await visit.find(path)
        let channels = unlit?.channels ?? []
        let most = visit.query["channels"] == "all" ? Self.mostChannels : Self.fewChannels
        // The page of a device shows every name, so a credential for some names asks about a device here.
        let isOfSomeNames = visit.session.identity.namePrefix != nil
        let listed = min(channels.count, Self.mostChannels)
        let (targets, delivered) = (push.ledger.targets, push.ledger.delivered)
        var shown = values([
            "channels": channels.prefix(most).map { channel in
                let device = channel.channelID
                let question = Form.query([
                    isOfSomeNames ? "device" : "name": isOfSomeNames ? device : push.ledger.name
                ])
                let place = isOfSomeNames ? page(visit) : "/console/devices/\(Form.encoded(device))"
                return values([
                    "device": device, "path": place + question + "#why", "outcome": channel.outcome,
                    "reason": channel.reason, "meaning": ReasonText.meaning(channel.reason),
                ])
            }, "hasChannels": channels.isEmpty ? nil : true, "unread": isLong ? Shown.count(unreached) : nil,
            "hidden": listed > most ? Shown.count(listed - most) : nil,
            "moreChannels": listed < channels.count && listed <= most ? Shown.count(channels.count - listed) : nil,
            "reachedAll": delivered == targets && targets > 0 ? true : nil, "forNobody": targets == 0 ? true : nil,
            "wanted": asked,
        ])
        if let asked {
            var explained = try await DevicesPage.explained(visit, push.ledger.name, asked)
            explained["push"] = outcome(of: asked, channels, push.isFinal)
            shown["explained"] = explained
        }
        return shown
    }

    /// The outcome of the push for one device, as far as it is known.
    private static func outcome(of device: String, _ channels: [UnlitChannelAnswer], _ isFinal: Bool) -> Values {
        guard let found = channels.first(where: { haveSameBytes($0.channelID, device) }) else {
            return ["device": device, isFinal ? "isUnknown" : "isOpen": true]
        }
        return values([
            "device": device, "missed": found.outcome, "reason": found.reason,
            "meaning": ReasonText.meaning(found.reason),
        ])
    }

    static func live(_ visit: Visit) async throws -> ConsoleResponse {
        let id = Form.encoded(visit.parameter("push"))
        let path = "/api/push/\(id)"
        let first: LedgerAnswer = try await visit.get(path)
        let meter = RateMeter()
        let wasScheduled = first.state == "scheduled"
        let schedule: ScheduleAnswer? = wasScheduled ? try await visit.find("/api/schedules/\(id)") : nil
        let pause = schedule.map { isSoon($0, visit.now) ? 1 : 5 } ?? 1
        return try await visit.watch("push \(id)\(wasScheduled ? " scheduled" : "")", every: pause) { visit in
            var push = PushValues(ledger: try await visit.get(path), now: nil)
            if wasScheduled {
                var page = push.page
                page["isUnsent"] = true
                page["due"] = Shown.time(schedule?.schedule.scheduledTime, now: nil)
                let html = visit.console.templates.render("push-live", page)
                // The rest of the page changes with its state, so the browser reads it again.
                return push.state == "scheduled" ? .html(html) : .last(html)
            }
            push.expected = await visit.expected(push.ledger)
            push.rate = meter.rate([push.id: push.ledger.settled], now: visit.now)
            let html = visit.console.templates.render("push-live", push.page)
            return push.isFinal ? .last(html) : .html(html)
        }
    }

    /// Whether it is about to go out, as each publish of the console is at first.
    private static func isSoon(_ schedule: ScheduleAnswer, _ now: Int64) -> Bool {
        WaitingPush.isSoon(TimeText.parse(schedule.schedule.scheduledTime), now)
    }

    /// A button about a push was pressed, also about one that waits.
    static func decide(_ visit: Visit) async throws -> ConsoleResponse {
        let id = Form.encoded(visit.parameter("push"))
        switch visit.form["do"] {
        case "cancel":
            let sentence = "What is not sent yet is not sent. Devices that have the push keep it."
            return try await ask(visit, "Cancel this push?", sentence, "Cancel the push") {
                try await visit.call("DELETE", "/api/push/\(id)")
                return visit.redirect(page(visit), .cancelled)
            }
        case "retry":
            try await visit.call("POST", "/api/dead/\(id)/retry")
            return visit.redirect(page(visit), .retried)
        case "drop":
            let sentence = "The list of devices that this push gave up is deleted. They cannot be retried then."
            return try await ask(visit, "Drop the dead letter?", sentence, "Drop") {
                try await visit.call("DELETE", "/api/dead/\(id)")
                return visit.redirect("/console/dead", .dropped)
            }
        case "unschedule":
            let sentence = "The push is not sent at its time. To send it later, schedule another one."
            return try await ask(visit, "Cancel this schedule?", sentence, "Cancel the schedule") {
                try await visit.call("DELETE", "/api/schedules/\(id)")
                return visit.redirect("/console/schedules", .scheduleCancelled)
            }
        case "undo": return try await undo(visit, id)
        case "now": return try await sendNow(visit, id)
        case "mine": return try await sendMine(visit, id)
        default: throw ConsoleFailure(422, "The form has no button of this page.")
        }
    }

    private static func ask(
        _ visit: Visit, _ title: String, _ sentence: String, _ button: String,
        _ act: () async throws -> ConsoleResponse
    ) async throws -> ConsoleResponse {
        if let question = visit.confirmation(title, sentence, button: button, back: page(visit)) { return question }
        return try await act()
    }

    /// Takes a publish back in its first seconds. There is no time for a question.
    private static func undo(_ visit: Visit, _ id: String) async throws -> ConsoleResponse {
        let answer = await visit.answer("DELETE", "/api/schedules/\(id)")
        if answer.status == 409 { return visit.redirect(page(visit), .tooLate) }
        guard (200..<300).contains(answer.status) else { throw ConsoleFailure(answer) }
        return visit.redirect("/console/compose" + Form.query(["push": visit.parameter("push")]), .undone)
    }

    /// Ends the seconds in which a publish can be taken back. It keeps its id, and goes out once.
    private static func sendNow(_ visit: Visit, _ id: String) async throws -> ConsoleResponse {
        let schedule: ScheduleAnswer = try await visit.get("/api/schedules/\(id)")
        let name = schedule.push.object?.liveActivity?.text("name") ?? ""
        let push = schedule.push.value.map { JSON($0) } ?? [:]
        let body = JSON.fields([
            "schedule": ["scheduled_time": .string(TimeText.text(visit.now))], "name": schedule.name.map(JSON.string),
            "push": push,
        ])
        let answer = await visit.answer("PUT", "/api/schedules/\(id)", body, as: "publish")
        // The push went out in this moment.
        if answer.status == 409 { return visit.redirect(RoomPage.path(name)) }
        guard (200..<300).contains(answer.status) else { throw ConsoleFailure(answer) }
        return visit.redirect(RoomPage.path(name) + Form.query(["sent": visit.parameter("push")]))
    }

    /// Asks about a push that did not go out, because the name had a push that its sender did not see. The question
    /// compares it with the cards of now, and its button sends it at once.
    private static func sendMine(_ visit: Visit, _ id: String) async throws -> ConsoleResponse {
        let schedule: ScheduleAnswer = try await visit.get("/api/schedules/\(id)")
        var copied = CopiedPush(schedule.push.object, at: nil, now: visit.now)
        copied.takeCondition()
        var draft = Draft(id: Draft.newID(), form: copied.form)
        draft.ask(now: visit.now)
        try await visit.keep(draft)
        return .redirect(draft.path("/console/compose/publish"))
    }

    private static func page(_ visit: Visit) -> String { "/console/pushes/\(Form.encoded(visit.parameter("push")))" }
}

/// A fact that a feature knows of one push, for the page of the push.
struct PushFact: Sendable {
    typealias Finder = @Sendable (Visit, LedgerAnswer) async -> [PushFact]

    let title, text: String
    /// The title of the text, such as the id of a person at the provider.
    var hint: String?
    /// The page that says more.
    let path: String
    /// Epoch ms.
    let at: Int64?

    func values(now: Int64) -> Values {
        sealed(["title": title, "text": text, "hint": hint, "path": path, "at": Shown.time(at, now: now)])
    }
}
