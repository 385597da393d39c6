import Answers
import LiveActivity
import StrictJSON

/// Pushes that wait for their time, or are over.
enum SchedulesPage {
    private static let filters = ["state", "name", "from", "to", "zone"]

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let isFinished = visit.query["state"] == "finished"
        let state: KeyValuePairs = ["state": isFinished ? "finished" : nil]
        let (wanted, days) = (visit.query.text("name"), DayRange(visit.query))
        // A schedule has the body as somebody posted it, which may be 64 KB: two cells of it, and few in a page.
        let parts = Platform.all.filter(visit.platforms.contains).map { "push.\(PushBlocks.path(on: $0))" }
        let columns =
            ScheduleAnswer.memberNames.filter { $0 != "push" } + parts.flatMap { ["\($0).name", "\($0).event"] }
        let file = try await Export.file(
            visit, "/api/schedules", "schedules", columns: columns, state, limit: 20
        ) { schedule in
            let name = schedule.object("push")?.liveActivity?.text("name") ?? ""
            return fits(name, schedule.object("schedule")?.text("scheduled_time"), wanted, days)
        }
        if let file { return file }
        let page = try await list(visit, state, after: visit.query.text("start"), limit: 50)
        let mayCancel = !isFinished && visit.session.identity.scopes.opens(.publish)
        let rows = page.rows.map { schedule -> Values in
            // The publish is as it was sent.
            let push = schedule.push.object?.liveActivity
            let id = schedule.pushIDs.first ?? ""
            let name = push?.text("name") ?? ""
            return values([
                "id": id, "entry": id, "path": "/console/pushes/\(id)",
                "name": name,
                "namePath": RoomPage.path(name), "event": push?.text("event"),
                "said": SaidPush.words(schedule.push),
                "label": schedule.name, "state": schedule.state, "reason": schedule.reason,
                "due": Shown.time(schedule.schedule.scheduledTime, now: visit.now),
                "canCancel": mayCancel ? true : nil, "hasMore": mayCancel || schedule.name != nil ? true : nil,
                "chosen": Bulk.isChosen(visit),
            ])
        }
        let bulk = Bulk.shown(
            visit, [.init(word: "cancel", title: "Cancel the chosen", isDanger: true)],
            of: isFinished ? [] : rows,
            keeping: filters, hasMore: page.next != nil)
        return visit.page(
            "schedules", "Schedules",
            values([
                "schedules": rows, "empty": rows.isEmpty ? true : nil, "isFinished": isFinished ? true : nil,
                "isWaiting": isFinished ? nil : true,
                "isPart": page.next == nil ? nil : true, "bulk": bulk, "wantedName": wanted ?? "",
                "range": days.shown,
                "isFiltered": wanted != nil || days.from != nil || days.to != nil ? true : nil,
                "pager": Pager.values(visit, next: page.next, keeping: filters, as: "start"),
            ]))
    }

    private static func list(
        _ visit: Visit, _ state: KeyValuePairs<String, String?>, after start: String?, limit: Int
    ) async throws -> (rows: [ScheduleAnswer], next: String?) {
        let source = visit.form.has("do") ? visit.form : visit.query
        let (wanted, days) = (source.text("name"), DayRange(source))
        return try await visit.list(
            "/api/schedules", \ScheduleListAnswer.schedules,
            next: { $0.nextPage?.split(separator: "?").last.map { Form($0)["start"] } }, state, limit: limit,
            as: "start", after: start
        ) { schedule in
            // A publish that waits its first seconds is in the room of its name.
            guard schedule.name != WaitingPush.undoLabel else { return false }
            let name = schedule.push.object?.liveActivity?.text("name") ?? ""
            return fits(name, schedule.schedule.scheduledTime, wanted, days)
        }
    }

    private static func fits(_ name: String, _ due: String?, _ wanted: String?, _ days: DayRange) -> Bool {
        (wanted.map(name.contains) ?? true) && (due.map(days.contains) ?? true)
    }

    /// Cancels the schedules that were chosen.
    static func cancelMany(_ visit: Visit) async throws -> ConsoleResponse {
        let words = Bulk.Words(
            verb: "Cancel", done: "cancelled", one: "schedule", many: "schedules",
            sentence: "Their pushes are not sent at their time. To send one later, schedule it again.")
        return try await Bulk(visit: visit, back: "/console/schedules").run(words) {
            // Only the ids are kept: each schedule may have 64 KB.
            try await visit.all {
                let page = try await list(visit, [:], after: $0, limit: 100)
                return (page.rows.compactMap(\.pushIDs.first), page.next)
            }
        } label: {
            ($0, "/console/pushes/\(Form.encoded($0))")
        } _: {
            try await visit.call("DELETE", "/api/schedules/\(Form.encoded($0))")
        }
    }
}
