public import LiveActivity
import Redis
public import StoreGround

/// Schedules that wait for the approval of a second person. `due` is the time at which the request lapses then, so the
/// timer of schedules brings it to a worker. A list has them beside the timer; it may have some that wait no more after
/// a crash, and readers skip these.
extension Schedules {
    /// Approves or rejects a request. Repeatable: the same person gets the same answer again, and what a crash left
    /// undone behind the decision is done.
    /// - Parameters:
    ///   - request: the one that the person has seen. Nil: whatever it is now.
    ///   - reason: why it is rejected, for the person who asked
    /// - Returns: nil if the app has no such schedule.
    /// - Throws: `unreplicated` as `create` does.
    public func decide(
        _ app: AppKey, _ id: PushID, approves: Bool, request: String?, reason: String? = nil,
        by person: Approval.Person, now: Int64
    ) async throws(StoreError) -> ApprovalResult? {
        guard let found = try await find(app, id) else { return nil }
        guard found.state == .awaiting, let approval = found.approval else {
            return try await repeated(app, found, approves: approves, request, person, now: now)
        }
        if approval.asker == person.identity { return .own }
        if let request, request != approval.request { return .changed }
        if now >= found.due { return .lapsed }
        var decided = found
        decided.approval?.decision = Approval.Decision(by: person, at: now)
        if approves {
            (decided.state, decided.due) = (.scheduled, max(approval.wanted ?? 0, now))
            // If the process dies after the decision, the timer is early already.
            try await lower(app, id, to: decided.due)
        } else {
            (decided.state, decided.reason, decided.finishedAt) = (.rejected, reason, now)
            try await noteFinished(app, id, now: now)
        }
        guard try await settle(app, decided, from: approval) else {
            // Somebody was faster: a second person, an edit, or a worker at the lapse.
            guard let found = try await find(app, id) else { return nil }
            if found.state == .awaiting { return .changed }
            return try await repeated(app, found, approves: approves, request, person, now: now)
        }
        try await follow(app, decided)
        return .decided(decided)
    }

    /// The answer about a request that is decided. It tells the same person that it is, and finishes what a crash left.
    private func repeated(
        _ app: AppKey, _ found: Schedule, approves: Bool, _ request: String?, _ person: Approval.Person, now: Int64
    ) async throws(StoreError) -> ApprovalResult {
        let states: [Schedule.State] = approves ? [.scheduled, .taken, .sent] : [.rejected]
        guard let approval = found.approval, approval.decision?.by.identity == person.identity,
            request == nil || request == approval.request, states.contains(found.state)
        else { return .settled(found) }
        try await follow(app, found)
        return .decided(found)
    }

    /// Does in the other slots what follows a decision.
    private func follow(_ app: AppKey, _ decided: Schedule) async throws(StoreError) {
        try await unlist(app, decided.id)
        switch decided.state {
        case .scheduled:
            let id = RedisArgument.string(decided.id.description)
            let name = RedisCommand("HSET", keys.scheduledNames(app), id, .string(decided.publish.name.rawValue))
            // A worker of an older version may have taken it out of the timer.
            let queue = RedisCommand("ZADD", keys.at(app), "LT", .int(decided.due), id)
            try await redis.run((redis.isCluster ? [name] : []) + [queue])
            try await raise(app, decided.id, to: decided.due)
            try await confirm(app, decided)
        case .taken, .sent: break
        default: try await forget(app, decided.id.description)
        }
    }

    /// Writes the decision about a request, if that still stands.
    private func settle(_ app: AppKey, _ decided: Schedule, from approval: Approval) async throws(StoreError) -> Bool {
        let end = decided.finishedAt ?? decided.due
        return try await redis.run(
            Lua.scheduleDecide, keys: ["at": keys.schedule(app, decided.id)],
            ["request": .string(approval.request), "expiresAt": .int(end + keys.retention)], rest: decided.fields
        ).isOne()
    }

    /// Ends a request that nobody decided about in time.
    /// - Returns: nil if somebody did, in the last moment.
    func lapse(_ app: AppKey, _ found: Schedule, now: Int64) async throws(StoreError) -> ScheduleRun? {
        guard let approval = found.approval else { return nil }
        var lapsed = found
        (lapsed.state, lapsed.reason, lapsed.finishedAt) = (.failed, Schedule.lapsed, now)
        try await noteFinished(app, found.id, now: now)
        guard try await settle(app, lapsed, from: approval) else { return nil }
        try await follow(app, lapsed)
        return ScheduleRun(
            id: found.id, outcome: .lapsed(found.publish.name, found.publish.publisher), lateness: now - found.due)
    }

    func list(_ app: AppKey, awaiting schedule: Schedule) async throws(StoreError) {
        let list = keys.awaitingSchedules(app)
        let replies = try await redis.run([
            RedisCommand("ZADD", list, .int(schedule.due), .bytes(schedule.id.uuid.bytes)),
            RedisCommand(
                "ZRANGEBYSCORE", list, "-inf", .int((schedule.approval?.askedAt ?? 0) - keys.retention), "LIMIT", "0",
                "100"),
        ])
        // Crashes left these.
        let old = try replies[1].byteStrings()
        if !old.isEmpty { try await redis.run("ZREM", list, old.map { .bytes($0) }) }
    }

    func unlist(_ app: AppKey, _ id: PushID) async throws(StoreError) {
        try await redis.run("ZREM", keys.awaitingSchedules(app), .bytes(id.uuid.bytes))
    }

    /// Lists the schedules that wait for approval, the first to lapse first.
    /// - Parameters: as of `finished`
    public func awaiting(
        _ app: AppKey, namesFrom prefix: String? = nil, start: PushID?, limit: Int, now: Int64
    ) async throws(StoreError) -> (schedules: [Schedule], total: Int, next: PushID?) {
        let listed = try await redis.run("ZRANGEBYSCORE", keys.awaitingSchedules(app), .int(now), "+inf").byteStrings()
        var ids = listed.compactMap { UUIDBytes(bytes: $0).map(PushID.init) }
        if let prefix { ids = try await own(app, ids, namesFrom: prefix) }
        let first = start.map { ids.firstIndex(of: $0) ?? ids.count } ?? 0
        var page = try await page(app, ids, first, limit)
        page.schedules.removeAll { $0.state != .awaiting }
        return page
    }

    /// About how many schedules wait for approval.
    /// - Parameter prefix: of names that begin so; nil: of all. Only the first to lapse are looked at then, because
    ///   each has to be read, and pages ask all the time.
    package func awaitingCount(
        _ app: AppKey, namesFrom prefix: String? = nil, now: Int64
    ) async throws(StoreError) -> Int {
        let list = keys.awaitingSchedules(app)
        guard let prefix else { return try await redis.run("ZCOUNT", list, .int(now), "+inf").integer() }
        let first = try await redis.run(
            "ZRANGEBYSCORE", list, .int(now), "+inf", "LIMIT", "0", .int(Self.mostCounted)
        ).byteStrings()
        return try await own(app, first.compactMap { UUIDBytes(bytes: $0).map(PushID.init) }, namesFrom: prefix).count
    }

    private static let mostCounted: Int64 = 1_000
}
