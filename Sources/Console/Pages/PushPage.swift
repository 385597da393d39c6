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
        let push = PushValues(ledger: try await visit.get(path), now: visit.now)
        let content = try await visit.find(path + "/content")
        // The API answers all of them, so a long list is read only if it is asked for.
        let unreached = push.ledger.whole("pruned") + push.ledger.whole("failed")
        let isLong = unreached > 2_000 && visit.query["channels"] != "all"
        let channels = isLong ? [] : try await visit.find(path + "/channels")?.objects("channels") ?? []
        let dead = try await visit.find("/api/dead/\(Form.encoded(id))")
        let name = push.ledger.text("name") ?? ""
        let payload = content?.object("payload")
        let state = payload?.object("aps")?["content-state"]
        var shown = push.whole
        let isScheduled = push.state == "scheduled"
        shown["isScheduled"] = isScheduled ? true : nil
        shown["canCancel"] = push.isFinal || isScheduled ? nil : true
        // A push that waits for its time changes only then.
        shown["isLive"] = push.isFinal || isScheduled ? nil : true
        if isScheduled, let schedule = try? await visit.find("/api/schedules/\(Form.encoded(id))") {
            shown["due"] = Shown.time(schedule.object("schedule")?.time("scheduled_time"), now: visit.now)
        }
        shown["payload"] = payload.map { JSONLayout.lines($0.value) }
        shown["bytes"] = content.map { Shown.count($0.whole("payload_bytes")) }
        shown["audience"] = content?["audience"].map(AudienceText.text)
        shown["by"] = push.ledger.object("by").map { by in
            let credential = by.text("credential") ?? ""
            return "\(credential == "master" ? "master secret" : credential) from \(by.text("address") ?? "")"
        }
        shown["card"] = payload.map {
            Card(
                app: visit.app.rawValue, name: name, state: state, alert: $0.object("aps")?.object("alert"),
                isEnd: push.ledger.text("event") == "end"
            ).values
        }
        let most = visit.query["channels"] == "all" ? Self.mostChannels : Self.fewChannels
        shown["channels"] = channels.prefix(most).map { channel in
            let device = channel.text("channel_id") ?? ""
            return values([
                "device": device, "path": "/console/devices/\(Form.encoded(device))" + Form.query(["name": name]),
                "outcome": channel.text("outcome") ?? "", "reason": channel.text("reason") ?? "",
                "meaning": channel.text("reason").flatMap(ReasonText.meaning),
            ])
        }
        shown["hasChannels"] = channels.isEmpty ? nil : true
        shown["unread"] = isLong ? Shown.count(unreached) : nil
        let listed = min(channels.count, Self.mostChannels)
        shown["hidden"] = listed > most ? Shown.count(listed - most) : nil
        shown["moreChannels"] = listed < channels.count && listed <= most ? Shown.count(channels.count - listed) : nil
        let (targets, delivered) = (push.ledger.whole("targets"), push.ledger.whole("delivered"))
        shown["reachedAll"] = delivered == targets && targets > 0 ? true : nil
        shown["ofSomeNames"] = visit.session.identity.namePrefix == nil ? nil : true
        shown["what"] = Shown.capitalized(push.ledger.text("event") ?? "push")
        if let dead {
            shown["dead"] = values([
                "tokens": Shown.count(dead.whole("tokens"), "device", "devices"),
                "kept": Shown.count(dead.whole("kept")), "stopped": dead.text("stopped"),
            ])
        }
        return visit.page("push", "\(Shown.capitalized(push.ledger.text("event") ?? "push")) of \(name)", shown)
    }

    static func live(_ visit: Visit) async throws -> ConsoleResponse {
        let path = "/api/push/\(Form.encoded(visit.parameter("push")))"
        _ = try await visit.get(path)
        return try await visit.watch("push \(visit.parameter("push"))") { visit in
            let push = PushValues(ledger: try await visit.get(path), now: nil)
            let html = visit.console.templates.render("push-live", push.whole)
            return push.isFinal ? .last(html) : .html(html)
        }
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
