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
        let sorting = NameSorting(rawValue: query["sort"])
        let page: (rows: [ListedNameAnswer], next: String?, note: String?)
        if let sorting {
            let sorted = try await sorting.names(visit, filter)
            page = (sorted.names, nil, sorted.note)
        } else {
            let found = try await visit.list(
                "/api/activities", \ActivitiesAnswer.activities, next: \.next, filter, limit: 50)
            page = (found.rows, found.next, nil)
        }
        let rows = page.rows.map { row($0, visit) }
        let choices = [
            ("", "All names"), ("followed", "With followers"), ("open", "Open"), ("closed", "Closed by an end"),
        ]
        return visit.page(
            "names", "Names",
            values([
                "names": rows, "empty": rows.isEmpty ? true : nil, "isPart": page.next == nil ? nil : true,
                "contains": query.text("contains") ?? "",
                "note": page.note, "sorts": Options.list(NameSorting.choices, chosen: query["sort"]),
                "shows": Options.list(choices, chosen: query["show"]),
                "pager": Pager.values(visit, next: page.next, keeping: ["contains", "show", "sort"]),
            ]))
    }

    private static func row(_ name: ListedNameAnswer, _ visit: Visit) -> Values {
        values([
            "name": name.name, "path": RoomPage.path(name.name),
            "followers": name.ended ? "–" : Shown.estimate(name.followers), "ended": name.ended ? true : nil,
            "last": Shown.time(name.lastPushAt, now: visit.now),
            "lastPath": name.lastPushID.map { "/console/pushes/\($0)" },
        ])
    }
}

/// An order of names that no index of the app has. It is the order of a part that is read for it.
enum NameSorting: String {
    case last, followers

    static let choices = [("", "Name"), ("last", "Last push"), ("followers", "Followers")]
    /// The newest pushes whose names are listed.
    private static let mostPushes = 500
    /// The names that are sorted by their followers.
    private static let mostNames = 5_000
    private static let shown = 100

    /// - Parameter filter: of the list of names
    /// - Returns: the first names, and what was read for them
    func names(
        _ visit: Visit, _ filter: KeyValuePairs<String, String?>
    ) async throws -> (names: [ListedNameAnswer], note: String?) {
        self == .last ? try await byLastPush(visit, filter) : try await byFollowers(visit, filter)
    }

    /// The names of the newest pushes. The list of pushes has the newest first.
    private func byLastPush(
        _ visit: Visit, _ filter: KeyValuePairs<String, String?>
    ) async throws -> (names: [ListedNameAnswer], note: String?) {
        let (contains, show) = (visit.query.text("contains"), visit.query["show"])
        let history: HistoryAnswer = try await visit.get("/api/pushes", query: "limit=\(Self.mostPushes)")
        var found: [ListedNameAnswer] = []
        var seen: Set<ExactText> = []
        for push in history.pushes where found.count < Self.shown {
            guard seen.insert(ExactText(push.name)).inserted, contains.map(push.name.contains) ?? true else { continue }
            let path = "/api/activities/\(Form.encoded(push.name))"
            guard let name: ActivityAnswer = try await visit.find(path) else { continue }
            let isHidden =
                switch show {
                case "followed": name.ended || name.tokens == 0
                case "open": name.ended
                case "closed": !name.ended
                default: false
                }
            if isHidden { continue }
            found.append(
                ListedNameAnswer(
                    name: push.name, followers: name.tokens, ended: name.ended, lastPushID: push.pushID,
                    lastPushAt: push.createdAt))
        }
        let count = Shown.count(history.pushes.count, "push", "pushes")
        return (found, history.next == nil && found.count < Self.shown ? nil : "The names of the last \(count).")
    }

    private func byFollowers(
        _ visit: Visit, _ filter: KeyValuePairs<String, String?>
    ) async throws -> (names: [ListedNameAnswer], note: String?) {
        var (names, next) = ([ListedNameAnswer](), String?.none)
        repeat {
            let found = try await visit.list(
                "/api/activities", \ActivitiesAnswer.activities, next: \.next, filter, limit: 1_000, after: next)
            names += found.rows
            next = found.next
        } while next != nil && names.count < Self.mostNames
        // A closed name has no card, so nobody follows it.
        func followers(_ name: ListedNameAnswer) -> Int { name.ended ? 0 : name.followers }
        let sorted = names.sorted { (followers($1), $0.name) < (followers($0), $1.name) }
        let note =
            next != nil
            ? "The most followers among the first \(Shown.count(names.count)) names that fit."
            : names.count > Self.shown ? "The first \(Self.shown) of \(Shown.count(names.count)) names." : nil
        return (Array(sorted.prefix(Self.shown)), note)
    }
}
