import Answers
import StrictJSON

/// The outgoing events of the app: how its webhook does, and the events that it did not take.
enum EventsPage {
    private static let path = "/console/events"

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let file = try await Export.file(visit, "/api/webhook/dead", "dead", columns: DeadEventAnswer.memberNames)
        if let file { return file }
        let webhook: WebhookAnswer = try await visit.get("/api/webhook")
        let page = try await visit.list("/api/webhook/dead", \DeadEventsAnswer.dead, next: \.next, [:], limit: 50)
        let rows = page.rows.map { row($0, visit) }
        return visit.page(
            "events", "Events",
            values([
                "hasWebhook": webhook.events.isEmpty ? nil : true,
                "kinds": webhook.events.map { ["word": $0.replacing("_", with: " ")] as Values },
                "waiting": Shown.count(webhook.waiting), "dead": Shown.count(webhook.dead),
                "dropped": Shown.count(webhook.dropped), "wasDropped": webhook.dropped > 0 ? true : nil,
                "failing": webhook.failing.map { failing in
                    values([
                        "since": Shown.time(failing.since, now: visit.now), "reason": failing.reason,
                        "attempts": Shown.count(failing.attempts, "attempt", "attempts"),
                        "next": Shown.time(failing.nextAttemptAt, now: visit.now),
                    ])
                },
                "events": rows, "empty": rows.isEmpty ? true : nil,
                "pager": Pager.values(visit, next: page.next, keeping: []),
            ]))
    }

    /// Retries or drops one event, or all.
    static func decide(_ visit: Visit) async throws -> ConsoleResponse {
        let entry = visit.form.text("entry")
        let isRetry = visit.form["to"] == "retry"
        if !isRetry {
            let what = entry == nil ? "all undelivered events" : "this event"
            let sentence = "The webhook never gets \(entry == nil ? "them" : "it"). The pushes themselves stay."
            if let page = visit.confirmation("Drop \(what)?", sentence, button: "Drop", back: path) { return page }
        }
        try await visit.call(
            "POST", isRetry ? "/api/webhook/retry" : "/api/webhook/discard",
            JSON.fields(["entry": entry.map(JSON.string)]))
        return visit.redirect(path, isRetry ? .eventsRetried : .eventsDropped)
    }

    private static func row(_ dead: DeadEventAnswer, _ visit: Visit) -> Values {
        // The event has the form of the release that told it.
        let event = dead.event.object
        let push = event?.object("push")
        let name = push?.text("name")
        return values([
            "entry": dead.entry, "at": Shown.time(dead.addedAt, now: visit.now), "reason": dead.reason,
            "type": event?.text("type").map { $0.replacing("_", with: " ") } ?? "?",
            "subject": name ?? event?.object("alarm")?.text("kind").map { $0.replacing("_", with: " ") },
            "subjectPath": push?.text("push_id").map { "/console/pushes/\(Form.encoded($0))" },
        ])
    }
}

extension Route {
    static let webhooks: [Route] = [
        Route("GET", "/console/events", .read, forAllNames: true, EventsPage.show),
        Route("POST", "/console/events", .operate, forAllNames: true, EventsPage.decide),
    ]
}

extension MenuEntry {
    static let webhooks = MenuEntry(group: .app, path: "/console/events", title: "Events") { visit in
        let webhook: WebhookAnswer = try await visit.get("/api/webhook")
        guard !webhook.events.isEmpty else { return nil }
        return Lamp(
            title: "Webhook", isOn: webhook.failing == nil, text: webhook.failing == nil ? "ok" : "trouble",
            hint: webhook.waiting == 1 ? "1 event waits" : "\(Shown.count(webhook.waiting)) events wait")
    }
}

extension Notice {
    static let webhooks: [Notice] = [eventsRetried, eventsDropped]

    static let eventsRetried = Notice("events-retried", "Put behind the events that wait for the webhook.")
    static let eventsDropped = Notice("events-dropped", "Dropped. The webhook does not get it.")
}
