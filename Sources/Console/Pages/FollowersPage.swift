import Answers
import LiveActivity
import StrictJSON

/// The devices that follow a name. The API answers whole tokens; the page shows none of them, and the file has all.
enum FollowersPage {
    /// The columns that `import` reads.
    private static let columns = [
        "channel", "token", "registered_at_ms", "started_at_ms", "activity_id", "frequent_pushes_enabled",
        "options.catch_up",
    ]

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let (name, wanted, days) = (visit.parameter("name"), visit.query.text("device"), DayRange(visit.query))
        let (path, keys) = ("/api/activities/\(Form.encoded(name))/channels", ["device", "from", "to", "zone"])
        @Sendable func fits(_ follower: JSONObject) -> Bool {
            guard wanted.map({ follower.text("channel")?.hasPrefix($0) ?? false }) ?? true else { return false }
            let at = follower["registered_at_ms"].flatMap { try? $0.integer() }.map { TimeText.text(Int64($0)) }
            return at.map(days.contains) ?? true
        }
        if let file = try await Export.file(visit, path, "channels", columns: columns, where: fits) { return file }
        let page = try await visit.list(
            path, \FollowersAnswer.channels, next: \.next, [:], limit: 100, where: { $0.object.map(fits) ?? false })
        let rows = try page.rows.map { try FollowerAnswer(answer: $0.bytes) }.map { follower in
            let device = "/console/devices/\(Form.encoded(follower.channel))"
            return values([
                "id": follower.channel, "path": device + Form.query(["name": name]),
                "registered": Shown.time(Int64(follower.registeredAt), now: visit.now),
                "started": follower.startedAt.flatMap { Shown.time(Int64($0), now: visit.now) },
                "isInfrequent": follower.frequentPushesEnabled == false ? true : nil,
            ])
        }
        let mayOpen = visit.session.identity.mayOpen("/console/devices/device")
        return visit.page(
            "followers", "Followers of \(name)",
            values([
                "of": name, "namePath": RoomPage.path(name), "action": visit.request.path,
                "followers": rows, "empty": rows.isEmpty ? true : nil, "isPart": page.next == nil ? nil : true,
                "device": wanted ?? "", "range": days.shown,
                "mayOpen": mayOpen ? true : nil, "pager": Pager.values(visit, next: page.next, keeping: keys),
            ]))
    }
}
