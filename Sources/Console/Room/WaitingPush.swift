import Answers
import LiveActivity
import StrictJSON

/// A push that waits for a name: for its time, or for what a feature says. The room of the name lists it.
struct WaitingPush: Sendable {
    /// A button, or a link, of the list.
    struct Action: Sendable {
        let title: String
        let path: String
        /// The form that the button posts. Nil: it is a link.
        var fields: [(name: String, value: String)]?
        var isMain = false
        var isDanger = false

        fileprivate var shown: Values {
            sealed([
                "title": title, "path": path,
                "fields": (fields ?? []).map { ["name": $0.name, "value": $0.value] as Values },
                "isForm": fields == nil ? nil : true, "isMain": isMain ? true : nil, "isDanger": isDanger ? true : nil,
            ])
        }
    }

    /// Finds what waits for a name.
    typealias Finder = @Sendable (Visit, _ name: String) async throws -> [WaitingPush]

    /// The push's id, once it goes out.
    let id: String
    /// When it goes out, epoch ms. Nil: once somebody decides.
    let due: Int64?
    /// As it was posted.
    let push: RawJSON
    /// The platforms of the app.
    let platforms: Set<Platform>
    /// The sender, and the id of a person at the provider.
    var who, whoID: String?
    /// A word or two for the event that it waits for.
    let word: String
    /// The page that says more. Nil: there is none.
    var page: String?
    var actions: [Action] = []
    /// The push does not go out by itself, also once its time has come.
    var isHeld = false
    /// The push was to go out and did not, because the name had a push that its sender did not see. Its sender decides.
    var isConflict = false

    /// The label of the schedule in which a publish of the console waits its first seconds.
    static let undoLabel = "a publish in the console"
    private static let soon: Int64 = 60_000

    /// Whether it goes out within a minute, as each publish of the console does at first.
    func isSoon(_ now: Int64) -> Bool { !isHeld && Self.isSoon(due, now) }

    /// - Parameter due: epoch ms; nil: not known
    static func isSoon(_ due: Int64?, _ now: Int64) -> Bool { due.map { $0 - now < soon } ?? false }

    var activity: JSONObject? { push.object?.liveActivity }
    var event: String { activity?.text("event") ?? "update" }
    var state: JSONValue? { activity?["content_state"] }
    var isForEveryone: Bool {
        guard let object = push.object, let posted = PostedPush(object) else { return false }
        return object.text("audience") == "all" && platforms.isSubset(of: posted.platforms)
    }

    private static let mostChanges = 4

    /// Whether the cards show all that it says, so that there is nothing to decide any more.
    func isOver(_ shown: JSONValue?) -> Bool {
        guard event == "update", let shown, let state else { return false }
        return StateText(state).changes(from: StateText(shown)).isEmpty
    }

    /// The members that it would change: `home 1 → 2, minute 52 → 53`. Nil: none, or nobody knows.
    private func changes(from before: JSONValue?) -> String? {
        guard let before, let state else { return nil }
        let changes = StateText(state).changes(from: StateText(before))
        guard !changes.isEmpty else { return nil }
        let more = changes.count > Self.mostChanges ? " and \(changes.count - Self.mostChanges) more" : ""
        return changes.prefix(Self.mostChanges).map {
            "\($0.key) \(StateText.shown($0.before)) → \(StateText.shown($0.after))"
        }.joined(separator: ", ") + more
    }

    /// For the room.
    /// - Parameters:
    ///   - now: epoch ms; nil: a live part, which must not change with the clock
    ///   - followers: of the name; nil: not known
    ///   - before: the state that the cards show, beside which a held push is decided about
    func shown(now: Int64?, followers: Int?, undo: Duration, before: JSONValue? = nil) -> Values {
        let alert = activity?.object("alert")
        let count = isForEveryone && event != "start" ? followers : nil
        let whole = max(1, undo.components.seconds)
        return sealed([
            "id": id, "due": Shown.time(due, now: now), "event": event, "headline": state.flatMap(Card.headline),
            "alert": alert.flatMap(Card.alertTitle), "who": who, "whoID": whoID, "word": word, "page": page,
            "audience": push.object.flatMap {
                isForEveryone ? nil : AudienceText.text($0, of: event, in: platforms)
            },
            "phones": count.map { Shown.count($0, "phone", "phones") }, "actions": actions.map(\.shown),
            "changes": isHeld || isConflict ? changes(from: before) : nil,
            "isConflict": isConflict ? true : nil, "stands": isConflict ? before.flatMap(Card.headline) : nil,
            "whole": "\(whole)",
            "left": "\(min(whole, max(0, ((due ?? 0) - (now ?? 0) + 999) / 1_000)))",
        ])
    }

    /// The pushes that wait for the name: schedules, and the pushes that features hold.
    static func all(_ visit: Visit, _ name: String) async throws -> [WaitingPush] {
        var found: [WaitingPush] = []
        for find in [schedules] + ofFeatures {
            found += try await visit.allowed { try await find(visit, name) } ?? []
        }
        return found.sorted { ($0.due ?? .max) < ($1.due ?? .max) }
    }

    /// Schedules of a name, and schedules that conflicted a moment ago.
    static let schedules: Finder = { visit, name in
        let mayPublish = visit.session.identity.scopes.opens(.publish)
        var found: [WaitingPush] = []
        for schedule in try await list(visit, name, "scheduled", limit: mostSchedules) {
            var waiting = waiting(schedule, TimeText.parse(schedule.schedule.scheduledTime), visit)
            if mayPublish { waiting.actions = actions(waiting, isSoon: waiting.isSoon(visit.now)) }
            found.append(waiting)
        }
        for (schedule, at) in try await conflicts(visit, name, limit: mostSchedules)
        where visit.now - at < conflictLasts {
            var waiting = waiting(schedule, nil, visit)
            waiting.isConflict = true
            let post = Action(
                title: "Send mine", path: "/console/pushes/\(waiting.id)", fields: [("do", "mine")], isMain: true)
            let form = Action(title: "Look at both", path: "/console/compose" + Form.query(["push": waiting.id]))
            waiting.actions = mayPublish ? [post, form] : []
            found.append(waiting)
        }
        return found
    }

    /// The last publishes that did not go out, because the name had a push that their senders did not see, with the
    /// time (epoch ms) of each.
    /// - Parameters:
    ///   - name: nil: of all names of the app
    ///   - limit: at most 100. Without a name it is the number of finished schedules that are looked at.
    static func conflicts(
        _ visit: Visit, _ name: String?, limit: Int
    ) async throws -> [(schedule: ScheduleAnswer, at: Int64)] {
        try await list(visit, name, "failed", limit: limit).compactMap { schedule in
            guard schedule.reason == "Conflict" else { return nil }
            return (schedule, schedule.finishedAt.flatMap { TimeText.parse($0) } ?? 0)
        }
    }

    private static let conflictLasts: Int64 = 300_000
    /// A room reads so many schedules of each kind. Each may have 64 KB, and a live part reads them every second.
    static let mostSchedules = 20

    private static func list(
        _ visit: Visit, _ name: String?, _ state: String, limit: Int
    ) async throws -> [ScheduleAnswer] {
        let query = Form.query(["name": name, "state": state, "limit": "\(limit)"])
        return (try await visit.get("/api/schedules", query: query) as ScheduleListAnswer).schedules
    }

    private static func waiting(_ schedule: ScheduleAnswer, _ due: Int64?, _ visit: Visit) -> WaitingPush {
        let id = schedule.pushIDs.first ?? ""
        return WaitingPush(
            id: id, due: due, push: schedule.push, platforms: visit.platforms,
            who: schedule.by.map { Caller.text($0) },
            whoID: Caller.id(schedule.by?.whoID), word: "scheduled", page: "/console/pushes/\(id)")
    }

    private static func actions(_ waiting: WaitingPush, isSoon: Bool) -> [Action] {
        let path = "/console/pushes/\(waiting.id)"
        guard isSoon else {
            let change = "/console/compose" + Form.query(["schedule": waiting.id])
            return [
                Action(title: "Change", path: change),
                Action(title: "Cancel", path: path, fields: [("do", "unschedule")], isDanger: true),
            ]
        }
        return [
            Action(title: "Take it back", path: path, fields: [("do", "undo")], isDanger: true),
            Action(title: "Send now", path: path, fields: [("do", "now")]),
        ]
    }
}
