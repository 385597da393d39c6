public import LiveActivity
import Redis
public import StoreGround

/// The result for a schedule that was due.
public struct ScheduleRun: Sendable, Hashable {
    public enum Outcome: Sendable, Hashable {
        case sent
        /// Refused for good.
        case failed(String)
        /// Refused for now. A worker tries it again.
        case postponed(String)
    }
    public var id: PushID
    public var outcome: Outcome
    /// Milliseconds from its time to its commit.
    public var lateness: Int64
    /// The reason for an alarm, because its publisher expects it to be sent. Nil: none is needed.
    public var alarm: String?
}

extension Schedules {
    /// An alert, a start or an `end` that is at most this late (ms) goes out behind newer pushes and is not refused.
    package static let tolerance: Int64 = 60_000
    /// How long a schedule waits for room in a name's full queue, and the time between two tries. Milliseconds.
    package static let patience: Int64 = 600_000
    static let postponement: Int64 = 5_000
    /// How long a worker has a schedule to itself. After that, another worker commits the same push.
    static let hold: Duration = .seconds(10)
    /// Most due schedules of an app in one look.
    static let longestLook = 4_096

    /// Commits the schedules that are due by Redis's clock. Many workers may do so at once: each schedule becomes the
    /// push whose id it has. The schedules of one name are committed in the order of their times, so one that another
    /// worker has claimed, or that waits for room in its name's queue, delays the others of its name. So does one whose
    /// name or record is on a node that is away.
    ///
    /// Schedules that wait keep their places in the timer. The others are behind them, so the look goes on there, in
    /// later calls if need be.
    /// - Parameter limit: how many schedules the call looks at, more if some of them wait.
    public func runDue(_ app: AppKey, limit: Int) async throws(StoreError) -> [ScheduleRun] {
        var runs: [ScheduleRun] = []
        var walk = walks.take(app)
        var (limit, looked) = (limit, 0)
        while looked < Self.longestLook {
            // If the schedule where the walk stands waits no more, the next call begins another walk.
            guard let (now, members) = try await due(app, after: walk.last, limit: limit) else { return runs }
            let groups = try await byName(app, members)
            var waiting: Set<PushID> = []
            // Take the names in random order, so that workers with the same list seldom begin with the same name.
            for group in groups.shuffled() {
                if !walk.waits(group.name), try await !runInOrder(app, group, now: now, &runs) { continue }
                if let name = group.name { walk.names.insert(name) }
                waiting.formUnion(group.ids)
            }
            looked += members.count
            if members.count < limit { return runs }
            if let last = members.last(where: { PushID($0).map(waiting.contains) ?? false }) { walk.last = last }
            if walk.last == nil { return runs }
            limit = min(4 * limit, Self.longestLook)
        }
        walks.put(app, walk)
        return runs
    }

    /// The first due schedules behind `last`, and Redis's time. Nil: there is no such schedule.
    private func due(
        _ app: AppKey, after last: String?, limit: Int
    ) async throws(StoreError) -> (now: Int64, members: [String])? {
        let reply = try await redis.run(
            Lua.scheduleDue, keys: ["at": keys.at(app)], ["after": .string(last ?? ""), "most": .int(limit)])
        var values = try ReplyValues(reply)
        let now = try values.next(.time("now"))
        var members: [String] = []
        while !values.isEmpty {
            guard let member = try values.next(.optionalString("schedule")) else { return nil }
            members.append(member)
        }
        return (now, members)
    }

    private struct Group {
        /// The name of all these schedules. Nil if a schedule has no record, or nobody knows its name now.
        var name: [UInt8]?
        var ids: [PushID] = []
        /// The schedules whose records are on a node that is away.
        var away: Set<PushID> = []
    }

    /// Groups the schedules by name, in the order given. One whose name is not known is a group of its own.
    private func byName(_ app: AppKey, _ members: [String]) async throws(StoreError) -> [Group] {
        var ids: [PushID] = []
        for member in members {
            if let id = PushID(member) { ids.append(id) } else { try await forget(app, member) }
        }
        let records = try await redis.apart(ids.map { RedisCommand("HGET", keys.schedule(app, $0), "name") })
        let away = zip(ids, records).filter { $0.1 == nil }.map(\.0)
        let kept = try await names(app, away)
        var places: [[UInt8]: Int] = [:]
        var groups: [Group] = []
        for (id, record) in zip(ids, records) {
            let name: [UInt8]? =
                if let record { record.isNil ? nil : Array(try record.bytes()) } else { kept[id] }
            let place = name.flatMap { places[$0] } ?? groups.count
            if place == groups.count { groups.append(Group(name: name)) }
            if let name { places[name] = place }
            groups[place].ids.append(id)
            if record == nil { groups[place].away.insert(id) }
        }
        return groups
    }

    /// The names of schedules whose records nobody can read now.
    private func names(_ app: AppKey, _ ids: [PushID]) async throws(StoreError) -> [PushID: [UInt8]] {
        if ids.isEmpty { return [:] }
        let kept = try await redis.run(
            RedisCommand("HMGET", keys.scheduledNames(app), ids.map { .string($0.description) })
        ).array()
        var names: [PushID: [UInt8]] = [:]
        for (id, name) in zip(ids, kept) where !name.isNil { names[id] = Array(try name.bytes()) }
        return names
    }

    /// Commits the schedules of one name until one has to wait.
    /// - Returns: whether one waits.
    private func runInOrder(
        _ app: AppKey, _ group: Group, now: Int64, _ runs: inout [ScheduleRun]
    ) async throws(StoreError) -> Bool {
        var time: Int64 = 0
        for id in group.ids {
            if group.away.contains(id) { return true }
            do throws(StoreError) {
                switch try await run(app, id, after: &time, now: now) {
                case .skipped: continue
                case .waits: return true
                case .ran(let run):
                    runs.append(run)
                    if case .postponed = run.outcome { return true }
                }
            } catch {
                // A node of a cluster is away. Other names are elsewhere.
                guard redis.isCluster, case .redis(let failure) = error, failure.isRetriable else { throw error }
                return true
            }
        }
        return false
    }

    private enum DueResult {
        case ran(ScheduleRun)
        /// Another worker has claimed it, or it is to be tried later. The schedules behind it wait.
        case waits
        /// The schedule was settled before, or its time has not come.
        case skipped
    }

    /// - Parameter time: the time that the name's schedule before this one counts from; afterwards the time of this
    ///   schedule.
    private func run(
        _ app: AppKey, _ id: PushID, after time: inout Int64, now: Int64
    ) async throws(StoreError) -> DueResult {
        let reply = try await redis.run(
            Lua.scheduleClaim, keys: ["at": keys.schedule(app, id)],
            ["now": .int(now), "hold": .int(longestHold.milliseconds)])
        var values = try ReplyValues(reply)
        switch try values.next(.string("state")) {
        case "held": return .waits
        case "early":
            if let due = try values.last(.optionalNumber("due")) { try await raise(app, id, to: Int64(due)) }
            return .skipped
        case "taken": break
        default:
            // The process that was refused may have died before it told so.
            let refused = try? await find(app, id)
            if let refused, refused.state == .failed { try await tellRefusal(app, refused) }
            try await forget(app, id.description)
            return .skipped
        }
        let fields = try values.last(.hash("record"))
        guard let schedule = try? Schedule(id: id, fields) else {
            return .ran(try await close(app, id, nil, .failed("Unreadable"), now: now, lateness: 0))
        }
        let lateness = now - schedule.due
        // A schedule counts from its creation if its time was past then, and never from before its predecessor.
        time = max(schedule.due, schedule.createdAt, time)
        var outcome = ScheduleRun.Outcome.sent
        if case .refused(let refusal) = try await commit(app, schedule, time: time, now: now) {
            let isPassing = refusal.isPassing && lateness < Self.patience
            outcome = isPassing ? .postponed(refusal.word) : .failed(refusal.word)
        }
        return .ran(try await close(app, id, schedule, outcome, now: now, lateness: lateness))
    }

    private func commit(
        _ app: AppKey, _ schedule: Schedule, time: Int64, now: Int64
    ) async throws(StoreError) -> Acceptance {
        var publish = schedule.publish
        let lateness = now - time
        let mayFollow = lateness <= punctual || lateness <= Self.tolerance && !publish.isSupersedable
        let hasOwnTime = publish.timestamp == nil
        // The time of the commit may be later than the time of the name's next schedule, which would be refused then.
        if hasOwnTime { publish.timestamp = Int(time / 1_000) }
        func accept() async throws(StoreError) -> Acceptance {
            try await pushes.accept(
                app, publish, id: schedule.id, payload: schedule.payload, timestampOffset: schedule.timestampOffset,
                isRepeatable: true, now: now)
        }
        var acceptance = try await accept()
        // If something newer was published, take its timestamp. Try several times, because publishers may go on.
        for _ in 0..<8 {
            guard hasOwnTime, mayFollow, case .refused(.timestampBehind(let last)) = acceptance else { break }
            publish.timestamp = last
            acceptance = try await accept()
        }
        return acceptance
    }

    /// - Parameter schedule: nil if its record cannot be read
    func close(
        _ app: AppKey, _ id: PushID, _ schedule: Schedule?, _ outcome: ScheduleRun.Outcome, now: Int64, lateness: Int64
    ) async throws(StoreError) -> ScheduleRun {
        let (state, reason, until): (Schedule.State, String?, Int64) =
            switch outcome {
            case .sent: (.sent, nil, 0)
            case .failed(let word): (.failed, word, 0)
            case .postponed(let word): (.scheduled, word, now + Self.postponement)
            }
        if state != .scheduled { try await noteFinished(app, id, now: now) }
        let standing = try await settle(app, id, from: [.taken], to: state, reason: reason, until: until, now: now)
        var run = ScheduleRun(id: id, outcome: outcome, lateness: lateness)
        // Another worker may have sent it meanwhile.
        if var schedule, state == .failed, standing == .failed {
            (schedule.state, schedule.reason, schedule.finishedAt) = (state, reason, now)
            try await tellRefusal(app, schedule)
            run.alarm = schedule.alarm
        }
        // A postponed schedule keeps its place in the timer, so that later schedules of its name still wait behind it.
        if state != .scheduled { try await forget(app, id.description) }
        return run
    }
}

extension AcceptanceRefusal {
    /// Whether the same publish may be accepted a little later.
    var isPassing: Bool { if case .queueFull = self { true } else { false } }

    /// The word for it in a ledger's `errors`.
    package var word: String {
        switch self {
        case .timestampBehind: "TimestampBehind"
        case .nameClosed: "NameEnded"
        case .queueFull: "QueueFull"
        case .conflict: Self.conflictWord
        }
    }

    package static let conflictWord = "Conflict"
}

extension Schedule {
    /// Somebody watches a schedule that is due so soon after it was made, ms: its page says what became of it.
    private static let watched: Int64 = 60_000

    /// The reason for an alarm if the condition of the schedule did not hold at its time. Else nil.
    var alarm: String? {
        guard state == .failed, reason == AcceptanceRefusal.conflictWord, due - createdAt >= Self.watched else {
            return nil
        }
        return
            "the \(publish.event) of \(publish.name) for \(TimeText.text(due)) was not sent: another push came first "
            + "(schedule \(id))"
    }
}
