import LiveActivity
import StrictJSON

/// The log of actions. An action of many devices is one row with their count.
enum ActionsPage {
    /// The things that actions are done to, in the order of the page, and the page of each.
    private static let subjects: [(key: String, path: String?)] = [
        ("name", "/console/names/"), ("push_id", "/console/pushes/"), ("schedule_id", "/console/pushes/"),
        ("channel", "/console/devices/"), ("attributes_type", nil), ("named_user", nil), ("entry", nil),
    ]

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let query = visit.query
        let page = try await visit.list(
            "/api/actions", "actions", ["name": query.text("name"), "credential": query.text("credential")],
            limit: 100)
        let rows = page.rows.map { row($0, visit) }
        return visit.page(
            "actions", "Action log",
            values([
                "actions": rows, "empty": rows.isEmpty ? true : nil, "wantedName": query.text("name") ?? "",
                "wantedCredential": query.text("credential") ?? "",
                "pager": Pager.values(visit, next: page.next, keeping: ["name", "credential"]),
            ]))
    }

    private static func row(_ action: JSONObject, _ visit: Visit) -> Values {
        let done = subjects.compactMap { key, path -> Values? in
            guard let text = action.text(key) else { return nil }
            return values([
                "text": text, "path": path.map { $0 + Form.encoded(text) }, "kind": key == "name" ? "name" : "id",
            ])
        }
        return values([
            "at": Shown.time(action.time("at"), now: visit.now),
            "action": action.text("action")?.replacing("_", with: " "),
            "credential": action.text("credential").map { $0 == "master" ? "master secret" : $0 },
            "address": action.text("address"), "subjects": done,
            "failed": action.whole("failed") > 0 ? action.whole("failed") : nil,
            "count": action.whole("count") > 1 ? Shown.count(action.whole("count")) : nil,
        ])
    }
}
