import Answers
import LiveActivity

/// The log of actions. An action of many devices is one row with their count.
enum ActionsPage {
    /// An entry of the log sums up what one caller did in a minute. Its first push may have been a little earlier.
    private static let sumSpan: Int64 = 70_000

    /// The things that actions are done to, in the order of the page, and the page of each.
    private static func subjects(_ action: ActionAnswer) -> [(text: String?, path: String?)] {
        [
            (action.name, "/console/names/"), (action.pushID, "/console/pushes/"),
            (action.scheduleID, "/console/pushes/"), (action.channel, "/console/devices/"),
            (action.attributesType, nil), (action.namedUser, nil), (action.credentialID, nil), (action.entry, nil),
            (action.reason.map { "“\($0)”" }, nil),
        ]
    }

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let query = visit.query
        let days = DayRange(query)
        let filter: KeyValuePairs = [
            "action": query.text("action"), "name": query.name(), "credential": query.text("credential"),
            "from": days.from, "to": days.to,
        ]
        let file = try await Export.file(
            visit, "/api/actions", "actions", columns: ActionAnswer.memberNames, filter)
        if let file { return file }
        let page = try await visit.list("/api/actions", \ActionsAnswer.actions, next: \.next, filter, limit: 100)
        let rows = page.rows.map { row($0, visit) }
        let choices = [("", "Any action")] + visit.console.gateway.actions.map { ($0, words(of: $0)) }
        return visit.page(
            "actions", "Action log",
            values([
                "actions": rows, "empty": rows.isEmpty ? true : nil, "isPart": page.next == nil ? nil : true,
                "wantedName": query.name() ?? "", "wantedCredential": query.text("credential") ?? "",
                "range": days.shown,
                "choices": Options.list(choices, chosen: query["action"]),
                "pager": Pager.values(
                    visit, next: page.next, keeping: ["action", "name", "credential", "from", "to", "zone"]),
            ]))
    }

    private static func words(of action: String) -> String { action.replacing("_", with: " ") }

    private static func row(_ action: ActionAnswer, _ visit: Visit) -> Values {
        let done = subjects(action).enumerated().compactMap { position, subject -> Values? in
            guard let text = subject.text else { return nil }
            return values([
                "text": text, "path": subject.path.map { $0 + Form.encoded(text) },
                "kind": position == 0 ? "name" : subject.text == action.reason ? "hint" : "id",
            ])
        }
        return values([
            "at": Shown.time(action.at, now: visit.now), "action": words(of: action.action),
            "credential": Caller.text(action.credential, action.who), "credentialID": Caller.id(action.whoID),
            "address": action.address, "subjects": done, "failed": action.failed,
            "count": action.count > 1 ? Shown.count(action.count) : nil, "pushes": pushes(action),
        ])
    }

    /// The list of the pushes that an entry sums up.
    private static func pushes(_ action: ActionAnswer) -> String? {
        guard action.action == "publish", action.count > 1, let at = TimeText.parse(action.at) else { return nil }
        return "/console/pushes"
            + Form.query([
                "person": action.credential, "name": action.name, "from": TimeText.plainText(at - sumSpan),
                "to": TimeText.plainText(at + 1_000),
            ])
    }
}
