import Answers
import LiveActivity
import StrictJSON

/// The app at this moment: alarms, queues, workers, the last pushes.
enum HomePage {
    private static let mostPushes = 12
    /// Seconds between two counts of the dead letters of some names: each reads the whole index of the app.
    private static let deadInterval = 30

    /// The values that a look takes over from the looks before.
    private struct Memory: Sendable {
        let meter = RateMeter()
        let contents = SaidPush.Contents()
        let dead = RateLimitedRead<Int>(seconds: deadInterval)
    }

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        visit.page("home", "Home", try await now(visit, Memory()))
    }

    static func live(_ visit: Visit) async throws -> ConsoleResponse {
        let memory = Memory()
        return try await visit.watch("home", every: 2) { visit in
            let found = try await now(visit, memory, isLive: true)
            return .html(visit.console.templates.render("home-live", found))
        }
    }

    /// The strip of the pages that are open.
    static func strip(_ visit: Visit) async throws -> ConsoleResponse {
        try await visit.watch("strip", every: 2) { visit in
            let strip = await visit.strip().strip(now: nil, isShort: true)
            guard strip["unknown"] == nil else { return .unknown }
            return .html(visit.console.templates.render("strip", ["strip": strip]))
        }
    }

    static func signOut(_ visit: Visit) async throws -> ConsoleResponse {
        try await visit.console.signOut(visit.request, visit.session)
    }

    /// Pauses or resumes the whole app.
    static func pause(_ visit: Visit) async throws -> ConsoleResponse {
        let isPause = visit.form["to"] == "pause"
        if isPause {
            let sentence =
                "Within a second nothing of \(visit.app) is sent, until you resume it. Pushes are accepted and kept."
            if let page = visit.confirmation("Pause the app?", sentence, button: "Pause", back: "/console") {
                return page
            }
        }
        try await visit.call("POST", isPause ? "/api/pause" : "/api/resume")
        return visit.redirect("/console", isPause ? .paused : .resumed)
    }

    private static func now(_ visit: Visit, _ memory: Memory, isLive: Bool = false) async throws -> Values {
        let now = visit.now
        let history: HistoryAnswer = try await visit.get("/api/pushes", query: "limit=\(Board.pushes)")
        let (board, last) = (Board(history, now: now), history.pushes.prefix(mostPushes))
        let said = Set(last.map(\.pushID) + board.newest.map(\.pushID))
        let words = await SaidPush.words(said.sorted(), visit, memory.contents)
        var pushes = last.map {
            PushValues(ledger: $0, now: isLive ? nil : now, said: words[$0.pushID])
        }
        for index in pushes.indices { pushes[index].expected = await visit.expected(pushes[index].ledger) }
        let statusStrip = isLive ? await visit.strip(withQueue: true) : visit.statusStrip
        guard let state = statusStrip.state, let pauses = state.pauses else { throw ConsoleFailure.withoutRedis }
        let rooms = board.values(words, isLive: isLive)
        if let prefix = visit.session.identity.namePrefix {
            return try await ofSomeNames(prefix, pauses, pushes, statusStrip, visit, memory, isLive: isLive)
                .merging(rooms) { $1 }
        }
        // A half of the state would look like a whole.
        guard let queue = state.queue, let workers = state.workers, let dead = state.deadLetters,
            let quarantined = state.quarantinedNames
        else { throw ConsoleFailure.withoutRedis }
        let settled = Dictionary(pushes.map { ($0.id, $0.ledger.settled) }, uniquingKeysWith: max)
        let rate = memory.meter.rate(settled, now: now)
        let alive = workers.filter(\.isAtWork)
        return all(
            statusStrip, pauses, workers, now, isLive: isLive,
            [
                "rate": Shown.count(rate), "names": Shown.count(queue.names, "name", "names"),
                "parts": Shown.count(queue.shards, "part of pushes", "parts of pushes"),
                "retries": Shown.count(queue.retriesDue),
                "queued": Shown.count(queue.names + queue.shards),
                "alive": Shown.count(alive.count), "working": alive.isEmpty ? nil : true,
                "tasks": Shown.count(alive.reduce(0) { $0 + $1.pending }, "task", "tasks"),
                "redis": redis(state.answered), "lamps": try await Lamp.all(visit),
                "services": visit.platforms == [.ios] ? "APNs" : "Push services",
                "dead": Shown.count(dead), "hasDead": dead > 0 ? true : nil,
                "quarantined": Shown.count(quarantined), "hasQuarantined": quarantined > 0 ? true : nil,
                "pushes": pushes.map(\.row),
                "hasPushes": pushes.isEmpty ? nil : true,
                "mayPublish": visit.session.identity.scopes.opens(.publish) ? true : nil,
            ]
        ).merging(rooms) { $1 }
    }

    /// Home of a credential for some names: only what the API tells it, and nothing of the deployment's queues.
    private static func ofSomeNames(
        _ prefix: String, _ pauses: [PauseAnswer], _ pushes: [PushValues], _ statusStrip: StatusStrip, _ visit: Visit,
        _ memory: Memory, isLive: Bool
    ) async throws -> Values {
        let dead = try await memory.dead.value(now: visit.now) {
            let letters: DeadLettersAnswer = try await visit.get("/api/dead", query: "limit=1")
            return letters.total
        }
        let now = isLive ? nil : visit.now
        let known = statusStrip.alarms.count { $0.known != nil }
        return values([
            "strip": statusStrip.strip(now: now), "prefix": prefix,
            "known": known > 0 ? Shown.count(known, "alarm is known", "alarms are known") : nil,
            "isCalm": isCalm(statusStrip),
            "pauses": pauses.compactMap { pause -> Values? in
                guard let name = pause.name else { return nil }
                return values([
                    "since": Shown.time(pause.since, now: now), "name": name,
                    "path": RoomPage.path(name),
                ])
            },
            "dead": Shown.count(dead), "paused": Shown.count(pauses.count { $0.name != nil }),
            "pushes": pushes.map(\.row), "hasPushes": pushes.isEmpty ? nil : true,
            "mayPublish": visit.session.identity.scopes.opens(.publish) ? true : nil,
        ])
    }

    /// Whether the strip tells of nothing that keeps pushes from going out.
    private static func isCalm(_ statusStrip: StatusStrip) -> Bool {
        statusStrip.alarms.isEmpty && !statusStrip.isHalted
    }

    private static func all(
        _ statusStrip: StatusStrip, _ pauses: [PauseAnswer], _ workers: [AppState.Worker], _ now: Int64, isLive: Bool,
        _ rest: KeyValuePairs<String, Any?>
    ) -> Values {
        var all = values(rest)
        all["ofAll"] = true
        all["strip"] = statusStrip.strip(now: isLive ? nil : now)
        let known = statusStrip.alarms.count { $0.known != nil }
        all["known"] = known > 0 ? Shown.count(known, "alarm is known", "alarms are known") : nil
        all["isCalm"] = isCalm(statusStrip)
        all["pauses"] = pauses.filter { $0.name != nil }.map { pause in
            var shown: Values = ["since": Shown.time(pause.since, now: isLive ? nil : now) as Any]
            if let name = pause.name {
                shown["name"] = name
                shown["path"] = RoomPage.path(name)
            }
            return shown
        }
        let away = statusStrip.alarms.filter { ["credentials", "unreachable"].contains($0.kind) }.map(\.title)
        all["apns"] = away.first
        all["hasPaused"] = pauses.isEmpty ? nil : true
        all["isPaused"] = pauses.contains { $0.name == nil } ? true : nil
        all["hasWorkers"] = workers.isEmpty ? nil : true
        all["workers"] = workers.map { worker in
            [
                "name": worker.name, "pending": Shown.count(worker.pending),
                "seen": worker.isAtWork ? "now" : Shown.ago(now - Int64(worker.idle), now),
            ] as Values
        }
        return all
    }

    /// Steps, so that the live part changes only if something does.
    private static func redis(_ duration: Duration) -> String {
        switch duration.milliseconds {
        case ..<5: "under 5 ms"
        case ..<20: "under 20 ms"
        case ..<100: "under 100 ms"
        default: Shown.duration(duration.milliseconds)
        }
    }
}
