import Answers
import LiveActivity
import StrictJSON

/// The names of the app.
enum NamesPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let query = visit.query
        if let name = query.name() { return .redirect("/console/names/\(Form.encoded(name))") }
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
                "name": text, "path": "/console/names/\(Form.encoded(text))",
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

/// One name: its followers, what its cards show, its history.
enum NamePage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let name = visit.parameter("name")
        let path = "/api/activities/\(Form.encoded(name))"
        let activity: ActivityAnswer? = try await visit.find(path)
        let history: HistoryAnswer = try await visit.get("/api/pushes", query: "limit=20&name=\(Form.encoded(name))")
        let pushes = history.pushes.map { PushValues(ledger: $0, now: visit.now).row }
        guard activity != nil || !pushes.isEmpty else {
            throw ConsoleFailure(404, "The name has no followers and no pushes. Check its spelling.")
        }
        let pauses: PausesAnswer = try await visit.get("/api/pauses")
        let last = activity?.lastContentState
        let closed = activity?.ended ?? false
        let state = last?.contentState.value
        let type = await SchemaFields.type(of: name, activity, visit)
        let drawing = await visit.drawing(type)
        func compose(_ event: String) -> String { "/console/compose" + Form.query(["name": name, "event": event]) }
        return visit.page(
            "name", name,
            values([
                "name": name, "path": visit.request.path, "followers": Shown.count(activity?.tokens ?? 0),
                "closed": closed ? true : nil, "type": activity?.attributesType,
                "paused": pauses.paused.contains { $0.name == name } ? true : nil,
                "broadcast": activity?.broadcast.map { channel in
                    values(["state": channel.state, "channel": channel.channel, "error": channel.error])
                }, "noBroadcast": activity?.broadcast == nil ? true : nil,
                "endsAt": Shown.time(activity?.automaticEndAt, now: visit.now),
                "update": closed ? nil : compose("update"), "end": closed ? nil : compose("end"),
                "start": compose("start"), "links": NameLink.ofFeatures.map { $0.values(name) }, "ofName": true,
                "pushes": pushes, "hasPushes": pushes.isEmpty ? nil : true,
                "more": history.next.map { _ in "/console/pushes" + Form.query(["name": name]) },
                "card": state.map {
                    Card(
                        app: visit.app.rawValue, name: name, state: $0, isEnd: last?.event == "end", drawing: drawing,
                        type: type, now: visit.now
                    ).values
                }, "state": state.map { JSONLayout.lines($0) },
            ]))
    }

    static func pause(_ visit: Visit) async throws -> ConsoleResponse {
        let name = visit.parameter("name")
        let path = "/console/names/\(Form.encoded(name))"
        let isPause = visit.form["to"] == "pause"
        if isPause {
            let sentence =
                "Within a second nothing of \(name) is sent, until you resume it. Pushes are accepted and kept."
            if let page = visit.confirmation("Pause this name?", sentence, button: "Pause", back: path) { return page }
        }
        try await visit.call("POST", isPause ? "/api/pause" : "/api/resume", ["name": .string(name)])
        return visit.redirect(path, isPause ? .paused : .resumed)
    }

    /// Creates or deletes the name's broadcast channel.
    static func broadcast(_ visit: Visit) async throws -> ConsoleResponse {
        let name = visit.parameter("name")
        let path = "/console/names/\(Form.encoded(name))"
        let isDeletion = visit.form["to"] == "delete"
        if isDeletion {
            let sentence = "Devices that subscribe to the channel get nothing of \(name) any more."
            let title = "Delete the broadcast channel?"
            if let page = visit.confirmation(title, sentence, button: "Delete", back: path) { return page }
        }
        let call = "/api/activities/\(Form.encoded(name))/broadcast"
        let answer = await visit.answer(isDeletion ? "DELETE" : "PUT", call, query: "wait=5")
        guard (200..<300).contains(answer.status) else { throw ConsoleFailure(answer) }
        let done: Notice = isDeletion ? .broadcastDiscarded : .broadcastWanted
        return visit.redirect(path, answer.status == 202 ? .waiting : done)
    }
}

/// A link to a feature's page about a name, below the name's pushes.
struct NameLink: Sendable {
    var title: String
    var path: @Sendable (String) -> String

    func values(_ name: String) -> Values { ["title": title, "path": path(name)] }
}
