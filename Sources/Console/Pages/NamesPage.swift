import Answers
import LiveActivity
import StrictJSON

/// The names of the app.
enum NamesPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let query = visit.query
        if let name = query.name() { return .redirect(RoomPage.path(name)) }
        if query.text("go") != nil { return .redirect(await GoTo.place(query["go"], visit)) }
        let ended: String? = query["show"] == "open" ? "false" : query["show"] == "closed" ? "true" : nil
        let filter: KeyValuePairs = [
            "contains": query.text("contains"), "ended": ended, "followed": query["show"] == "followed" ? "true" : nil,
        ]
        let file = try await Export.file(
            visit, "/api/activities", "activities", columns: ListedNameAnswer.memberNames, filter)
        if let file { return file }
        let page = try await visit.list(
            "/api/activities", \ActivitiesAnswer.activities, next: \.next, filter, limit: 50)
        let rows = page.rows.map { name -> Values in
            let text = name.name
            let last = Shown.time(name.lastPushAt, now: visit.now)
            return values([
                "name": text, "path": RoomPage.path(text),
                "followers": name.ended ? "–" : Shown.estimate(name.followers), "ended": name.ended ? true : nil,
                "last": last, "lastPath": name.lastPushID.map { "/console/pushes/\($0)" },
            ])
        }
        let choices = [
            ("", "All names"), ("followed", "With followers"), ("open", "Open"), ("closed", "Closed by an end"),
        ]
        return visit.page(
            "names", "Names",
            values([
                "names": rows, "empty": rows.isEmpty ? true : nil, "isPart": page.next == nil ? nil : true,
                "contains": query.text("contains") ?? "",
                "shows": Options.list(choices, chosen: query["show"]),
                "pager": Pager.values(visit, next: page.next, keeping: ["contains", "show"]),
            ]))
    }
}
