import LiveActivity
import StrictJSON

/// Pushes that wait for their time, or are over.
enum SchedulesPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let isFinished = visit.query["state"] == "finished"
        let page = try await visit.get(
            "/api/schedules",
            query: Form.query([
                "limit": "50", "state": isFinished ? "finished" : nil, "start": visit.query.text("start"),
            ]))
        let rows = page.objects("schedules").map { schedule -> Values in
            let push = schedule.object("push")?.object("notification")?.object("ios")?.object("live_activity")
            let id = schedule.list("push_ids").first.flatMap { try? $0.string() } ?? ""
            let name = push?.text("name") ?? ""
            return values([
                "id": id, "path": "/console/pushes/\(id)", "name": name,
                "namePath": "/console/names/\(Form.encoded(name))", "event": push?.text("event"),
                "label": schedule.text("name"), "state": schedule.text("state"), "reason": schedule.text("reason"),
                "due": Shown.time(schedule.object("schedule")?.time("scheduled_time"), now: visit.now),
                "finished": Shown.time(schedule.time("finished_at"), now: visit.now),
                "waits": isFinished ? nil : true,
            ])
        }
        let next = page.text("next_page")?.split(separator: "?").last.map { Form($0)["start"] }
        return visit.page(
            "schedules", "Schedules",
            values([
                "schedules": rows, "empty": rows.isEmpty ? true : nil, "isFinished": isFinished ? true : nil,
                "total": Shown.count(page.whole("total_count")),
                "pager": Pager.values(visit, next: next, keeping: ["state"], as: "start"),
            ]))
    }

    static func cancel(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("schedule")
        let sentence = "The push is not sent at its time. To send it later, schedule another one."
        // The list is about all names.
        let mayList = visit.session.identity.namePrefix == nil
        let back = mayList ? "/console/schedules" : "/console/pushes/\(Form.encoded(id))"
        if let page = visit.confirmation("Cancel this schedule?", sentence, button: "Cancel the schedule", back: back) {
            return page
        }
        try await visit.call("DELETE", "/api/schedules/\(Form.encoded(id))")
        return visit.redirect(back, .scheduleCancelled)
    }
}

/// Devices that pushes gave up, as dead letters.
enum DeadPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let page = try await visit.get(
            "/api/dead", query: Form.query(["limit": "50", "after": visit.query.text("after")]))
        let rows = page.objects("dead").map { letter -> Values in
            let id = letter.text("push_id") ?? ""
            let name = letter.text("name") ?? ""
            let counts = letter.object("reasons")
            let reasons = counts?.members.map { "\($0.key): \(Shown.count(counts?.whole($0.key) ?? 0))" } ?? []
            // It stands among the reasons already, where it is the only one.
            let stopped = letter.text("stopped").flatMap { counts?.members.map(\.key) == [$0] ? nil : $0 }
            return values([
                "id": id, "path": "/console/pushes/\(id)", "name": name,
                "namePath": "/console/names/\(Form.encoded(name))", "tokens": Shown.count(letter.whole("tokens")),
                "kept": Shown.count(letter.whole("kept")), "stopped": stopped,
                "reasons": reasons.joined(separator: ", "), "at": Shown.time(letter.time("at"), now: visit.now),
            ])
        }
        return visit.page(
            "dead", "Dead letters",
            values([
                "letters": rows, "empty": rows.isEmpty ? true : nil,
                "total": Shown.count(page.whole("total"), "push", "pushes"),
                "pager": Pager.values(visit, next: page.text("next"), keeping: []),
            ]))
    }
}

/// Tokens that the prune guard keeps until an operator decides.
enum QuarantinePage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let page = try await visit.get("/api/quarantine", query: "limit=200")
        let rows = page.objects("names").map { entry -> Values in
            let name = entry.text("name")
            return values([
                "name": name ?? entry.text("attributes_type"), "key": name == nil ? "attributes_type" : "name",
                "isType": name == nil ? true : nil, "namePath": name.map { "/console/names/\(Form.encoded($0))" },
                "tokens": Shown.count(entry.whole("tokens")),
                "since": Shown.time(entry.time("since"), now: visit.now),
                "reasons": entry.list("reasons").compactMap { try? $0.string() }.joined(separator: ", "),
            ])
        }
        return visit.page(
            "quarantine", "Quarantine",
            values([
                "places": rows, "empty": rows.isEmpty ? true : nil, "total": Shown.count(page.whole("total_names")),
                "hasMore": page.whole("total_names") > rows.count ? true : nil,
            ]))
    }

    static func decide(_ visit: Visit) async throws -> ConsoleResponse {
        let key = visit.form["key"] == "attributes_type" ? "attributes_type" : "name"
        let place = visit.form["place"]
        let isRelease = visit.form["to"] == "release"
        let what = isRelease ? "Release" : "Discard"
        let sentence =
            isRelease
            ? "The next push goes to the quarantined tokens of \(place) again."
            : "The quarantined tokens of \(place) are pruned. Their devices get nothing until they register again."
        let title = "\(what) the tokens of \(place)?"
        if let page = visit.confirmation(
            title, sentence, button: what, back: "/console/quarantine", isSafe: isRelease)
        {
            return page
        }
        try await visit.call(
            "POST", "/api/quarantine/\(isRelease ? "release" : "discard")",
            .object([JSON.Member(key, .string(place))]))
        return visit.redirect("/console/quarantine", isRelease ? .released : .discarded)
    }
}

/// The broadcast channels of the app at APNs.
enum BroadcastsPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let page = try await visit.get(
            "/api/broadcasts", query: Form.query(["limit": "100", "after": visit.query.text("after")]))
        let rows = page.objects("broadcasts").map { entry -> Values in
            let name = entry.text("name") ?? ""
            return values([
                "name": name, "namePath": "/console/names/\(Form.encoded(name))", "channel": entry.text("channel"),
            ])
        }
        return visit.page(
            "broadcasts", "Broadcast channels",
            values([
                "channels": rows, "empty": rows.isEmpty ? true : nil, "count": Shown.count(page.whole("channels")),
                "limit": Shown.count(page.whole("limit")),
                "foreign": page.whole("foreign") > 0 ? Shown.count(page.whole("foreign")) : nil,
                "pager": Pager.values(visit, next: page.text("next"), keeping: []),
            ]))
    }
}
