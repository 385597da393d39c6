public import LiveActivity
import Redis

/// The result of a look at names that may have lost their stream entry.
public struct Reconciliation: Sendable, Hashable {
    /// Names for which a worker was woken.
    public var woken = 0
    /// Entries that Lamplighter cannot read. They were removed.
    public var dropped = 0
}

/// The reconciler: finds committed work whose wake-up was lost. A worker looks through the names of its own apps.
extension WorkQueue {
    /// Most batches of one call for one app. More names wait for the next call.
    private static let mostBatches = 400

    /// Looks at names whose last publish was before `before` (epoch ms): wakes a worker for each name with work, and
    /// removes the others. Continues batch by batch while most names are removed, to keep up with any number. One
    /// worker looks at a name. If the name stays, another one looks after 30 s. A node that is away holds up only its
    /// own names.
    /// - Parameter paused: apps of which only names are woken that may have something expired.
    public func reconcile(
        _ apps: [AppKey], paused: Set<AppKey> = [], before: Int64, now: Int64, limit: Int
    ) async throws(StoreError) -> Reconciliation {
        var sum = Reconciliation()
        let timers = keys.allPartitions.flatMap { partition in apps.map { ($0, keys.open($0, partition)) } }
        do throws(StoreError) {
            let there = timers.filter { !redis.isAway($0.1) }
            let holding = try await redis.holding(there.map(\.1))
            try await there.filter { holding.contains($0.1) }.eachApart { (app, open) async throws(StoreError) in
                try await reconcile(
                    app, open, isPaused: paused.contains(app), before: before, now: now, limit: limit, &sum)
            }
        } catch {
            if sum == Reconciliation() { throw error }
        }
        return sum
    }

    private func reconcile(
        _ app: AppKey, _ open: RedisKey, isPaused: Bool, before: Int64, now: Int64, limit: Int,
        _ sum: inout Reconciliation
    ) async throws(StoreError) {
        var woken = 0
        for _ in 0..<Self.mostBatches {
            // Publishes write whole milliseconds, so a publish meanwhile changes the score and keeps the name.
            let score = RedisArgument.string("\(now).5")
            let reply = try await redis.run(
                Lua.queueLook, keys: ["open": open], ["before": .int(before), "score": score, "most": .int(limit)])
            let (names, unreadable) = try reply.names()
            if !unreadable.isEmpty {
                try await redis.run("ZREM", open, unreadable)
                sum.dropped += unreadable.count
            }
            woken += try await wake(app, open, names, score, expired: isPaused ? now : nil)
            if names.count + unreadable.count < limit || woken >= 4 * limit { break }
        }
        sum.woken += woken
    }

    /// - Parameter time: nil, or of a paused app: only what may have expired by then (epoch ms) is woken for.
    /// - Returns: for how many of the names a worker was woken.
    private func wake(
        _ app: AppKey, _ open: RedisKey, _ names: [ActivityName], _ score: RedisArgument, expired time: Int64?
    ) async throws(StoreError) -> Int {
        var actions: [RedisCommand] = []
        var woken = 0
        for (name, work) in zip(names, try await work(app, names)) {
            // A name whose keys cannot be read, or whose node is away, must not stop the names behind it.
            guard let work else { continue }
            if let time {
                let items = work.overdue(app, name, at: time)
                actions += items.map { Self.add(keys, $0) }
                woken += items.isEmpty ? 0 : 1
                continue
            }
            if let (push, priority) = work.first {
                let item = WorkItem(app: app, name: name, push: push, priority: priority, part: .reconcile)
                actions.append(Self.add(keys, item))
                woken += 1
            } else if work.isOver {
                actions.append(
                    RedisCommand(
                        Lua.queueForget, keys: ["timer": open], ["name": .string(name.rawValue), "score": score]))
            }
            // Channels or broadcasts wait, and the process that queued them may have died before it set the timer.
            for (item, due) in work.timers(app, name) {
                actions.append(Self.putOff(keys, item, due: due))
                wakeup.ring(due)
            }
        }
        if !actions.isEmpty { try await redis.run(actions) }
        return woken
    }

    fileprivate struct OpenWork {
        var first: (push: PushID, priority: PushPriority)?
        /// The deadline of the first unswept push, epoch ms. A push of an older version has none.
        var deadline: Int64?
        /// Due time of the first waiting channel, epoch ms; 0 if removals are pending.
        var due: Int64?
        var hasBroadcasts = false
        var hasLate = false
        var hasOutbox = false

        var isOver: Bool { first == nil && due == nil && !hasBroadcasts && !hasLate && !hasOutbox }

        /// The work that may have expired by `time`. A worker that finds nothing expired puts it off.
        func overdue(_ app: AppKey, _ name: ActivityName, at time: Int64) -> [WorkItem] {
            let isOverdue = deadline.map { $0 <= time } ?? false
            let unswept = isOverdue ? first.map { [$0] } ?? [] : []
            return
                unswept.map { push, priority in
                    WorkItem(app: app, name: name, push: push, priority: priority, part: .reconcile)
                }
                + (due.map { $0 > 0 && $0 <= time } ?? false ? [.retries(app, name, .high)] : [])
                + (hasBroadcasts ? [.broadcast(app, name, .high)] : [])
        }

        /// The timers of the other work. None if a push is unswept, because its sweep handles the rest.
        func timers(_ app: AppKey, _ name: ActivityName) -> [(WorkItem, due: Int64)] {
            if first != nil { return [] }
            return (due.map { [(.retries(app, name, .high), $0)] } ?? [])
                + (hasBroadcasts ? [(.broadcast(app, name, .high), 0)] : []) + (hasLate ? [(.late(app, name), 0)] : [])
                + (hasOutbox ? [(.outbox(app, name), 0)] : [])
        }

        init(reading replies: [Reply]) throws(StoreError) {
            var values = ReplyValues(replies)
            let lone = try LonePush(try values.next(.any("lone push")))
            if let push = try values.next(.array("unswept pushes")).first?.push() { first = (push, .high) }
            if let lone {
                first = (lone.id, lone.priority)
                deadline = lone.fields.number("until").map { Int64($0) }
            }
            due = try values.next(.firstTime("waiting channels"))
            if try values.next(.flag("removals")) { due = 0 }
            hasBroadcasts = try values.next(.flag("broadcasts"))
            hasLate = try values.next(.flag("late joiners"))
            if !values.isEmpty { hasOutbox = try values.next(.flag("outbox")) }
        }
    }

    /// Reads the names in two round trips for all of them. Nil for a name whose keys cannot be read.
    private func work(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) -> [OpenWork?] {
        if names.isEmpty { return [] }
        let tags = names.map { keys.tag(app, $0) }
        let reads = tags.map { tag in
            [
                keys.lonePush(tag), RedisCommand("ZRANGE", keys.unswept(tag), "0", "0"),
                RedisCommand("ZRANGE", keys.waitingChannels(tag), "0", "0", "WITHSCORES"),
                RedisCommand("EXISTS", keys.pendingRemovals(tag)), RedisCommand("EXISTS", keys.broadcastQueue(tag)),
                RedisCommand("EXISTS", keys.lateJoiners(tag)),
                // Last, because the script that ends the work above writes the outbox.
            ] + (telling.contains(app) ? [RedisCommand("EXISTS", keys.outbox(tag))] : [])
        }
        let replies = try await redis.apart(reads.flatMap(\.self))
        var found = replies.parts(of: replies.count / names.count).map { part -> OpenWork? in
            let answers = part.compactMap(\.self)
            return answers.count == part.count ? try? OpenWork(reading: answers) : nil
        }
        let pushes = found.indices.filter { found[$0]?.first != nil && found[$0]?.deadline == nil }
        let records = try await redis.apart(
            pushes.compactMap { index in
                found[index]?.first.map { RedisCommand("HMGET", keys.push(tags[index], $0.push), ["prio", "until"]) }
            })
        for (index, reply) in zip(pushes, records) {
            guard let (number, time) = try? reply?.values(.any("priority"), .any("deadline")) else { continue }
            if !time.isNil { found[index]?.deadline = try? time.optionalTime() }
            if let number = try? number.integer(), let priority = PushPriority(rawValue: number) {
                found[index]?.first?.priority = priority
            }
        }
        return found
    }

    /// Most stream entries that `withoutEntry` reads, and entries in one round trip.
    private static let (mostEntries, entriesOfStep) = (8_000, 400)

    /// The tasks that have no entry in their stream and are not in the timer. All are of one name and one stream.
    /// - Returns: nothing if the stream is too long to read. Its workers are busy then, and it is shorter later.
    public func withoutEntry(_ tasks: [WorkItem]) async throws(StoreError) -> [WorkItem] {
        guard let first = tasks.first else { return [] }
        let (stream, due) = (keys.stream(of: first), keys.due(of: first))
        let scores = try await redis.run(tasks.map { RedisCommand("ZSCORE", due, .string($0.member)) })
        var missing = Set(zip(tasks, scores).filter { $0.1.isNil }.map(\.0))
        var position = "-"
        for _ in 0..<Self.mostEntries / Self.entriesOfStep where !missing.isEmpty {
            let reply = try await redis.run(
                "XRANGE", stream, .string(position), "+", "COUNT", .int(Self.entriesOfStep))
            let entries = try reply.array()
            let found = entries.compactMap { entry in
                (try? entry.entry().fields.hash()).flatMap { WorkItem(app: first.app, priority: first.priority, $0) }
            }
            missing.subtract(found)
            guard entries.count >= Self.entriesOfStep, let last = try entries.last?.entry().id else {
                return tasks.filter(missing.contains)
            }
            position = "(" + last
        }
        return []
    }

    /// The push of a name that is active, or begins next.
    public func firstUnswept(
        _ app: AppKey, _ name: ActivityName
    ) async throws(StoreError) -> (push: PushID, priority: PushPriority)? {
        let tag = keys.tag(app, name)
        let (lone, unswept) = try await redis.run([
            keys.lonePush(tag), RedisCommand("ZRANGE", keys.unswept(tag), "0", "0"),
        ]).values(.any("lone push"), .array("unswept pushes"))
        if let lone = try LonePush(lone) { return (lone.id, lone.priority) }
        guard let push = try unswept.first?.push() else { return nil }
        let number = try await redis.run("HGET", keys.push(tag, push), "prio").optionalNumber()
        return (push, number.flatMap(PushPriority.init(rawValue:)) ?? .high)
    }
}
