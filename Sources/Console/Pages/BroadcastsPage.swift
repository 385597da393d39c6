import Answers
import LiveActivity

/// The broadcast channels of the app at APNs.
enum BroadcastsPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let file = try await Export.file(
            visit, "/api/broadcasts", "broadcasts", columns: ListedBroadcastAnswer.memberNames)
        if let file { return file }
        let page: BroadcastsAnswer = try await visit.get(
            "/api/broadcasts", query: Form.query(["limit": "100", "after": visit.query.text("after")]))
        let rows = page.broadcasts.map { entry in
            values([
                "name": entry.name, "namePath": RoomPage.path(entry.name),
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
