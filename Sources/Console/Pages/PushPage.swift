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
        push.expected = await visit.expected(push.ledger)
        let content: ContentAnswer? = try await visit.find(path + "/content")
        // The API answers all of them, so a long list is read only if it is asked for.
        let unreached = push.ledger.pruned + push.ledger.failed
        let asked = visit.query.text("device")
        let isLong = unreached > 2_000 && visit.query["channels"] != "all" && asked == nil
        let unlit: UnlitChannelsAnswer? = isLong ? nil : try await visit.find(path + "/channels")
        let channels = unlit?.channels ?? []
        let dead: DeadLetterAnswer? = try await visit.find("/api/dead/\(Form.encoded(id))")
        let name = push.ledger.name
        let payload = content?.payload.object
        var (state, alert) = (payload?.object("aps")?["content-state"], payload?.object("aps")?.object("alert"))
        var (audience, text) = (content?.audience.value, payload?.value)
        var shown = push.page
        // Until its time, the schedule has the push as it was published.
        var body: JSONObject?
        let isScheduled = push.state == "scheduled"
        shown["isScheduled"] = isScheduled ? true : nil
        // A scheduled push that never went out has its content in the schedule too.
        let isUnsent = isScheduled || push.isFinal && content == nil
        let schedule: ScheduleAnswer? =
            isUnsent ? try? await visit.find("/api/schedules/\(Form.encoded(id))") : nil
        shown["canCancel"] = push.isFinal || isScheduled ? nil : true
        shown["isLive"] = push.isFinal ? nil : true
        if isScheduled {
            shown["due"] = Shown.time(schedule?.schedule.scheduledTime, now: visit.now)
            shown["undo"] = schedule.map { isSoon($0, visit.now) } == true ? true : nil
        }
        if let schedule, isScheduled || schedule.isRefused {
            shown["isUnsent"] = true
            body = schedule.push.object
            (state, alert) = (body?.liveActivity?["content_state"], body?.liveActivity?.object("alert"))
            (audience, text) = (body?["audience"], body?.value)
        }
        if !push.isFinal { shown["obstacle"] = visit.standing.obstacle(of: name) }
        shown["payload"] = text.map { JSONLayout.lines($0) }
        shown["bytes"] = content.map { Shown.count($0.payloadBytes) }
        shown["audience"] = audience.map { AudienceText.text($0, of: push.ledger.event) }
        shown["by"] = push.ledger.by.map { "\(Caller.text($0.credential, $0.who)) from \($0.address)" }
        shown["byID"] = Caller.id(push.ledger.by?.whoID)
        if text != nil {
            let sent = body?.liveActivity ?? payload?.object("aps")
            var type = sent?.text("attributes_type") ?? sent?.text("attributes-type")
            if type == nil {
                let activity: ActivityAnswer? = try? await visit.find("/api/activities/\(Form.encoded(name))")
                type = await SchemaFields.type(of: name, activity, visit)
            }
            shown["card"] =
                Card(
                    app: visit.app.rawValue, name: name, state: state, alert: alert, isEnd: push.ledger.event == "end",
                    drawing: await visit.drawing(type), type: type, attributes: sent?.object("attributes"),
                    now: visit.now
                ).values
        }
        let most = visit.query["channels"] == "all" ? Self.mostChannels : Self.fewChannels
        // The page of a device shows every name, so a credential for some names asks about a device here.
        let isOfSomeNames = visit.session.identity.namePrefix != nil
        shown["channels"] = channels.prefix(most).map { channel in
            let device = channel.channelID
            let question = Form.query([isOfSomeNames ? "device" : "name": isOfSomeNames ? device : name])
            return values([
                "device": device,
                "path": (isOfSomeNames ? page(visit) : "/console/devices/\(Form.encoded(device))") + question + "#why",
                "outcome": channel.outcome, "reason": channel.reason,
                "meaning": ReasonText.meaning(channel.reason),
            ])
        }
        shown["hasChannels"] = channels.isEmpty ? nil : true
        shown["unread"] = isLong ? Shown.count(unreached) : nil
        let listed = min(channels.count, Self.mostChannels)
        shown["hidden"] = listed > most ? Shown.count(listed - most) : nil
        shown["moreChannels"] = listed < channels.count && listed <= most ? Shown.count(channels.count - listed) : nil
        let (targets, delivered) = (push.ledger.targets, push.ledger.delivered)
        shown["reachedAll"] = delivered == targets && targets > 0 ? true : nil
        shown["forNobody"] = targets == 0 ? true : nil
        shown["wanted"] = visit.query["device"]
        if let asked {
            var explained = try await DevicesPage.explained(visit, name, asked)
            explained["push"] = outcome(of: asked, channels, push.isFinal)
            shown["explained"] = explained
        }
        shown["what"] = Shown.capitalized(push.ledger.event)
        if let dead {
            shown["dead"] = values([
                "tokens": Shown.count(dead.tokens, "device", "devices"), "kept": Shown.count(dead.kept),
                "canRetry": dead.kept > 0 ? true : nil, "stopped": dead.stopped,
            ])
        }
        return visit.page("push", "\(Shown.capitalized(push.ledger.event)) of \(name)", shown)
    }

    /// What became of the push for one device, as far as it is known.
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
        guard let due = TimeText.parse(schedule.schedule.scheduledTime) else { return false }
        return due - now < 60_000
    }

    static func cancel(_ visit: Visit) async throws -> ConsoleResponse {
        let path = page(visit)
        let sentence = "What is not sent yet is not sent. Devices that have the push keep it."
        if let page = visit.confirmation("Cancel this push?", sentence, button: "Cancel the push", back: path) {
            return page
        }
        try await visit.call("DELETE", "/api/push/\(Form.encoded(visit.parameter("push")))")
        return visit.redirect(path, .cancelled)
    }

    static func retry(_ visit: Visit) async throws -> ConsoleResponse {
        try await visit.call("POST", "/api/dead/\(Form.encoded(visit.parameter("push")))/retry")
        return visit.redirect(page(visit), .retried)
    }

    static func drop(_ visit: Visit) async throws -> ConsoleResponse {
        let sentence = "The list of devices that this push gave up is deleted. They cannot be retried then."
        if let page = visit.confirmation("Drop the dead letter?", sentence, button: "Drop", back: page(visit)) {
            return page
        }
        try await visit.call("DELETE", "/api/dead/\(Form.encoded(visit.parameter("push")))")
        return visit.redirect("/console/dead", .dropped)
    }

    private static func page(_ visit: Visit) -> String { "/console/pushes/\(Form.encoded(visit.parameter("push")))" }
}
