import Answers
import LiveActivity

/// The log of actions. An action of many devices is one row with their count.
enum ActionsPage {
    /// The things that actions are done to, in the order of the page, and the page of each.
    private static func subjects(_ action: ActionAnswer) -> [(text: String?, path: String?)] {
        [
            (action.name, "/console/names/"), (action.pushID, "/console/pushes/"),
            (action.scheduleID, "/console/pushes/"), (action.channel, "/console/devices/"),
            (action.attributesType, nil), (action.namedUser, nil), (action.entry, nil),
        ]
    }

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let query = visit.query
        let days = DayRange(query)
        let filter: KeyValuePairs = [
            "name": query.text("name"), "credential": query.text("credential"), "from": days.from, "to": days.to,
        ]
        if let file = try await Export.file(visit, "/api/actions", "actions", filter) { return file }
        let page = try await visit.list("/api/actions", \ActionsAnswer.actions, next: \.next, filter, limit: 100)
        let rows = page.rows.map { row($0, visit) }
        return visit.page(
            "actions", "Action log",
            values([
                "actions": rows, "empty": rows.isEmpty ? true : nil, "wantedName": query.text("name") ?? "",
                "wantedCredential": query.text("credential") ?? "", "from": query.text("from") ?? "",
                "to": query.text("to") ?? "",
                "pager": Pager.values(visit, next: page.next, keeping: ["name", "credential", "from", "to"]),
            ]))
    }

    private static func row(_ action: ActionAnswer, _ visit: Visit) -> Values {
        let done = subjects(action).enumerated().compactMap { position, subject -> Values? in
            guard let text = subject.text else { return nil }
            return values([
                "text": text, "path": subject.path.map { $0 + Form.encoded(text) },
                "kind": position == 0 ? "name" : "id",
            ])
        }
        return values([
            "at": Shown.time(action.at, now: visit.now), "action": action.action.replacing("_", with: " "),
            "credential": action.who ?? (action.credential == "master" ? "master secret" : action.credential),
            "address": action.address, "subjects": done, "failed": action.failed,
            "count": action.count > 1 ? Shown.count(action.count) : nil,
        ])
    }
}
