/// The alarms of the app: what each means, what to do, and the person who knows of it.
enum AlarmsPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let identity = visit.session.identity
        let rows = visit.statusStrip.alarms.map { alarm -> Values in
            let page = alarm.page.flatMap { identity.mayOpen($0.path) ? $0 : nil }
            return values([
                "kind": alarm.title, "word": alarm.word, "reason": alarm.plainReason,
                "since": Shown.time(alarm.since, now: visit.now), "meaning": alarm.meaning, "ends": alarm.ends,
                "page": page.map { ["path": $0.path, "title": $0.title] as Values },
                "runbook": Runbook.steps(alarm.runbook, alarm: alarm.kind).map {
                    ["title": $0.title, "markup": $0.markup] as Values
                },
                "known": alarm.known.map { known in
                    values([
                        "by": Caller.text(known.credential, known.who), "byID": Caller.id(known.whoID),
                        "at": Shown.time(known.at, now: visit.now),
                    ])
                },
            ])
        }
        return visit.page(
            "alarms", "Alarms",
            values([
                "alarms": rows, "empty": rows.isEmpty ? true : nil,
                "mayKnow": identity.mayOpen(visit.request.path, "POST") ? true : nil,
            ]))
    }

    /// Says that an alarm is known, or takes that back.
    static func acknowledge(_ visit: Visit) async throws -> ConsoleResponse {
        let wanted = visit.form["kind"]
        guard let alarm = visit.statusStrip.alarms.first(where: { $0.word == wanted }) else {
            return visit.redirect("/console/alarms", .alarmOver)
        }
        let isKnown = visit.form["to"] == "known"
        try await visit.console.gateway.acknowledge(visit.session.identity, alarm, isKnown, visit.now)
        return visit.redirect("/console/alarms", isKnown ? .alarmKnown : .alarmLoud)
    }
}
