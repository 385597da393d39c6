import LiveActivity
import Store

/// The alarms of the app: what each means, what to do, and who knows of it.
enum AlarmsPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let identity = visit.session.identity
        // A reason names other names.
        let isForAllNames = identity.namePrefix == nil
        let rows = visit.standing.alarms.map { told -> Values in
            let alarm = told.alarm
            let kind = alarm.kind
            let page = kind.page.flatMap { identity.mayOpen($0.path) ? $0 : nil }
            return values([
                "kind": kind.title, "word": kind.rawValue,
                "reason": isForAllNames ? alarm.plainReason : nil,
                "since": Shown.time(alarm.since, now: visit.now), "raised": alarm.since, "meaning": kind.meaning,
                "ends": kind.ends, "page": page.map { ["path": $0.path, "title": $0.title] as Values },
                "runbook": kind.runbook,
                "known": told.known.map { known in
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
        guard let told = visit.standing.alarms.first(where: { $0.alarm.kind.rawValue == wanted }) else {
            return visit.redirect("/console/alarms", .alarmOver)
        }
        let isKnown = visit.form["to"] == "known"
        let identity = visit.session.identity
        let known = Acknowledgement(
            credential: identity.credentialID ?? "master", who: identity.person?.name,
            whoID: identity.person?.subject, at: visit.now, since: told.alarm.since)
        try await visit.console.store.console.acknowledge(visit.app, told.alarm.kind, isKnown ? known.record : nil)
        return visit.redirect("/console/alarms", isKnown ? .alarmKnown : .alarmLoud)
    }
}
