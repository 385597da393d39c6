import Answers
import LiveActivity
import StrictJSON

/// Pushes that wait for their time, or are over.
enum SchedulesPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let isFinished = visit.query["state"] == "finished"
        let file = try await Export.file(
            visit, "/api/schedules", "schedules", ["state": isFinished ? "finished" : nil], limit: 100)
        if let file { return file }
        let page: ScheduleListAnswer = try await visit.get(
            "/api/schedules",
            query: Form.query([
                "limit": "50", "state": isFinished ? "finished" : nil, "start": visit.query.text("start"),
            ]))
        let rows = page.schedules.map { schedule -> Values in
            // The publish is as it was sent.
            let push = schedule.push.object?.liveActivity
            let id = schedule.pushIDs.first ?? ""
            let name = push?.text("name") ?? ""
            return values([
                "id": id, "path": "/console/pushes/\(id)", "name": name,
                "namePath": "/console/names/\(Form.encoded(name))", "event": push?.text("event"),
                "label": schedule.name, "state": schedule.state, "reason": schedule.reason,
                "due": Shown.time(schedule.schedule.scheduledTime, now: visit.now),
                "finished": Shown.time(schedule.finishedAt, now: visit.now),
                "waits": isFinished ? nil : true,
            ])
        }
        let next = page.nextPage?.split(separator: "?").last.map { Form($0)["start"] }
        return visit.page(
            "schedules", "Schedules",
            values([
                "schedules": rows, "empty": rows.isEmpty ? true : nil, "isFinished": isFinished ? true : nil,
                "total": Shown.count(page.totalCount),
                "pager": Pager.values(visit, next: next, keeping: ["state"], as: "start"),
            ]))
    }

    static func cancel(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("schedule")
        let sentence = "The push is not sent at its time. To send it later, schedule another one."
        if visit.form["undo"] == "yes" { return try await undo(visit, id) }
        let back = "/console/schedules"
        if let page = visit.confirmation("Cancel this schedule?", sentence, button: "Cancel the schedule", back: back) {
            return page
        }
        try await visit.call("DELETE", "/api/schedules/\(Form.encoded(id))")
        return visit.redirect(back, .scheduleCancelled)
    }

    /// Takes a publish back in its first seconds. There is no time for a question.
    private static func undo(_ visit: Visit, _ id: String) async throws -> ConsoleResponse {
        let id = Form.encoded(id)
        let answer = await visit.answer("DELETE", "/api/schedules/\(id)")
        if answer.status == 409 { return visit.redirect("/console/pushes/\(id)", .tooLate) }
        guard (200..<300).contains(answer.status) else { throw ConsoleFailure(answer) }
        return .redirect("/console/compose" + Form.query(["push": id, "notice": Notice.undone.rawValue]))
    }
}

/// Devices that pushes gave up, as dead letters.
enum DeadPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let (days, wanted) = (DayRange(visit.query), visit.query.text("name"))
        let file = try await Export.file(visit, "/api/dead", "dead") { letter in
            days.contains(letter.text("at") ?? "") && (wanted == nil || letter.text("name") == wanted)
        }
        if let file { return file }
        let first: DeadLettersAnswer = try await visit.get("/api/dead", query: "limit=1")
        let page = try await visit.list(
            "/api/dead", \DeadLettersAnswer.dead, next: \.next, [:], limit: 50,
            where: { days.contains($0.at) && (wanted == nil || $0.name == wanted) })
        let rows = page.rows.map { letter -> Values in
            let (id, name) = (letter.pushID, letter.name)
            let reasons = letter.reasons.sorted { $0.key < $1.key }.map { "\($0.key): \(Shown.count($0.value))" }
            // It stands among the reasons already, where it is the only one.
            let stopped = letter.stopped.flatMap { Array(letter.reasons.keys) == [$0] ? nil : $0 }
            return values([
                "id": id, "path": "/console/pushes/\(id)", "name": name,
                "namePath": "/console/names/\(Form.encoded(name))", "tokens": Shown.count(letter.tokens),
                "kept": Shown.count(letter.kept), "canRetry": letter.kept > 0 ? true : nil, "stopped": stopped,
                "reasons": reasons.joined(separator: ", "), "at": Shown.time(letter.at, now: visit.now),
            ])
        }
        return visit.page(
            "dead", "Dead letters",
            values([
                "letters": rows, "empty": rows.isEmpty ? true : nil, "isPart": page.next == nil ? nil : true,
                "total": Shown.count(first.total, "push", "pushes"), "name": wanted ?? "",
                "from": visit.query.text("from") ?? "", "to": visit.query.text("to") ?? "",
                "pager": Pager.values(visit, next: page.next, keeping: ["name", "from", "to"]),
            ]))
    }
}

/// Tokens that the prune guard keeps until an operator decides.
enum QuarantinePage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        if let file = try await Export.file(visit, "/api/quarantine", "names") { return file }
        let page: QuarantineAnswer = try await visit.get("/api/quarantine", query: "limit=200")
        let rows = page.names.map { entry -> Values in
            let name = entry.name
            return values([
                "name": name ?? entry.attributesType, "key": name == nil ? "attributes_type" : "name",
                "isType": name == nil ? true : nil, "namePath": name.map { "/console/names/\(Form.encoded($0))" },
                "tokens": Shown.count(entry.tokens), "since": Shown.time(entry.since, now: visit.now),
                "reasons": entry.reasons.joined(separator: ", "),
            ])
        }
        return visit.page(
            "quarantine", "Quarantine",
            values([
                "places": rows, "empty": rows.isEmpty ? true : nil, "total": Shown.count(page.totalNames),
                "hasMore": page.totalNames > rows.count ? true : nil,
                "pager": Pager.values(visit, next: nil, keeping: []),
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
        if let file = try await Export.file(visit, "/api/broadcasts", "broadcasts") { return file }
        let page: BroadcastsAnswer = try await visit.get(
            "/api/broadcasts", query: Form.query(["limit": "100", "after": visit.query.text("after")]))
        let rows = page.broadcasts.map { entry in
            values([
                "name": entry.name, "namePath": "/console/names/\(Form.encoded(entry.name))",
                "channel": entry.channel,
            ])
        }
        return visit.page(
            "broadcasts", "Broadcast channels",
            values([
                "channels": rows, "empty": rows.isEmpty ? true : nil, "count": Shown.count(page.channels),
                "limit": Shown.count(page.limit),
                "foreign": page.foreign > 0 ? Shown.count(page.foreign) : nil,
                "pager": Pager.values(visit, next: page.next, keeping: []),
            ]))
    }
}
