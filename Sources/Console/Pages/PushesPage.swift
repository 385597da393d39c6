import Answers
import LiveActivity
import StrictJSON

/// The pushes of the app, newest first.
enum PushesPage {
    /// A page has less than 46 KB.
    private static let limit = 40
    private static let states = [
        "queued", "sending", "done", "failed", "superseded", "expired", "cancelled",
    ]

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let query = visit.query
        let (days, person) = (DayRange(query), query.text("person"))
        let filter: KeyValuePairs = [
            "name": query.name(), "state": query.text("state"), "event": query.text("event"), "from": days.from,
            "to": days.to,
        ]
        let file = try await Export.file(visit, "/api/pushes", "pushes", columns: LedgerAnswer.memberNames, filter) {
            push in
            let by = push.object("by")
            return person == nil || ["credential", "who", "who_id"].contains { by?.text($0) == person }
        }
        if let file { return file }
        let page = try await visit.list(
            "/api/pushes", \HistoryAnswer.pushes, next: \.next, filter, limit: limit,
            where: { person == nil || [$0.by?.credential, $0.by?.who, $0.by?.whoID].contains(person) })
        let words = await SaidPush.words(page.rows.map(\.pushID), visit)
        let rows = page.rows.map { PushValues(ledger: $0, now: visit.now, said: words[$0.pushID]).row }
        return visit.page(
            "pushes", "Pushes",
            values([
                "pushes": rows, "empty": rows.isEmpty ? true : nil, "isPart": page.next == nil ? nil : true,
                "name": query.name() ?? "", "range": days.shown,
                "span": days.isOfDays ? nil : days.words,
                "person": person ?? "",
                "events": Options.list(["", "start", "update", "end"], chosen: query["event"], empty: "Any event"),
                "states": Options.list([""] + states, chosen: query["state"], empty: "Any state"),
                "pager": Pager.values(
                    visit, next: page.next, keeping: ["name", "state", "event", "from", "to", "zone", "person"]),
            ]))
    }
}

/// The choices of a `select`.
enum Options {
    static func list(_ choices: [String], chosen: String, empty: String = "") -> [Values] {
        list(choices.map { ($0, $0.isEmpty ? empty : $0) }, chosen: chosen)
    }

    static func list(_ choices: [(value: String, title: String)], chosen: String) -> [Values] {
        choices.map {
            values(["value": $0.value, "title": $0.title, "chosen": $0.value == chosen ? true : nil])
        }
    }
}
