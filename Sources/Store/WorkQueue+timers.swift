public import LiveActivity
import Redis

extension WorkQueue {
    /// Puts a task off until `due` (epoch ms); an earlier time that stands already is kept.
    public func schedule(_ item: WorkItem, due: Int64) async throws(StoreError) {
        _ = try await redis.run([Self.putOff(keys, item, due: due)])
        bell.ring(due)
    }

    static func putOff(_ keys: Keyspace, _ item: WorkItem, due: Int64) -> RedisCommand {
        RedisCommand("ZADD", [.string(keys.due(item.app)), "LT", .int(due), .string(item.member)])
    }

    /// When the first timer of each kind is due, all in one round trip. Of `ending` the cards end by themselves.
    public func nextDue(_ apps: [AppKey], ending: [AppKey] = []) async throws(StoreError) -> NextDue {
        let kinds = [
            apps.map(keys.due), apps.map(keys.at), [keys.broadcastTimers],
            ending.flatMap { [keys.ends($0), keys.endsInHand($0)] },
        ]
        let replies = try await redis.run(
            kinds.joined().map { RedisCommand("ZRANGE", [.string($0), "0", "0", "WITHSCORES"]) })
        var times = try redisErrors { () throws(RedisError) in
            try replies.map { (reply) throws(RedisError) in reply.count == 2 ? try reply[1].optionalTime() : nil }
        }[...]
        let first = kinds.map { sets in
            defer { times = times.dropFirst(sets.count) }
            return times.prefix(sets.count).compactMap(\.self).min()
        }
        return NextDue(task: first[0], schedule: first[1], channel: first[2], end: first[3])
    }

    /// Moves what is due into the streams, at most `limit` tasks of each app; each task is moved by exactly one worker.
    /// Returns how many were, and when the next of the rest is due (epoch ms; nil: none waits).
    /// A worker that dies between reading and moving leaves the task where it was.
    public func moveDue(
        _ apps: [AppKey], now: Int64, limit: Int
    ) async throws(StoreError) -> (moved: Int, next: Int64?) {
        let replies = try await redis.run(
            apps.map { app in
                // One more than is moved: the first that is left says when to come back.
                RedisCommand(
                    "ZRANGE", [.string(keys.due(app)), "0", .int(limit), "WITHSCORES"])
            })
        var next: Int64?
        var moves: [RedisCommand] = []
        for (app, reply) in zip(apps, replies) {
            let tasks = try redisErrors { () throws(RedisError) in
                let items = try reply.array()
                return try stride(from: 0, to: items.count - 1, by: 2).map { index throws(RedisError) in
                    (member: try items[index].string(), due: Int64(Double(try items[index + 1].string()) ?? 0))
                }
            }
            for (position, task) in tasks.enumerated() {
                guard task.due <= now, position < limit else {
                    next = min(next ?? .max, task.due)
                    break
                }
                guard let item = WorkItem(member: task.member), item.app == app else {
                    moves.append(RedisCommand("ZREM", [.string(keys.due(app)), .string(task.member)]))
                    continue
                }
                moves.append(
                    RedisCommand(
                        Lua.queueDue, keys: [.string(keys.due(app)), .string(keys.stream(app, item.stream))],
                        arguments: [.string(task.member), .int(now)] + item.entry))
            }
        }
        if moves.isEmpty { return (0, next) }
        var moved = 0
        for reply in try await redis.run(moves) {
            moved += try redisErrors { () throws(RedisError) in try reply.integer() }
        }
        return (moved, next)
    }

    /// Looks after names that were published to before `before` (epoch ms) and may have lost their stream entry: wakes a
    /// worker for each that still has an unswept push, forgets the others. Returns how many were woken.
    public func reconcile(before: Int64, now: Int64, limit: Int) async throws(StoreError) -> Int {
        let open = try await redis.run([
            RedisCommand(
                "ZRANGEBYSCORE", [.string(keys.open), "-inf", .int(before), "WITHSCORES", "LIMIT", "0", .int(limit)])
        ])[0]
        let names = try redisErrors { () throws(RedisError) in
            let items = try open.array()
            return try stride(from: 0, to: items.count - 1, by: 2).map { index throws(RedisError) in
                (route: try items[index].string(), score: try items[index + 1].string())
            }
        }
        var woken = 0
        for (route, score) in names {
            guard let (app, name) = Self.appAndName(route) else {
                _ = try await redis.run([RedisCommand("ZREM", [.string(keys.open), .string(route)])])
                continue
            }
            let first: (push: PushID, priority: PushPriority)?
            let due: Int64?
            let (broadcasts, late): (Bool, Bool)
            do throws(StoreError) {
                first = try await firstUnswept(app, name)
                (due, broadcasts, late) = first == nil ? try await firstDue(app, name) : (nil, false, false)
            } catch {
                if error.isPassing { throw error }
                // A name whose keys cannot be read must not keep those behind it asleep.
                _ = try await redis.run([RedisCommand("ZADD", [.string(keys.open), "XX", .int(now), .string(route)])])
                continue
            }
            if let (push, priority) = first {
                _ = try await redis.run([
                    Self.add(keys, WorkItem(app: app, name: name, push: push, priority: priority, part: .reconcile)),
                    RedisCommand("ZADD", [.string(keys.open), "XX", .int(now), .string(route)]),
                ])
                woken += 1
            } else if due != nil || broadcasts || late {
                // Channels or broadcasts wait, and whoever put them in line may have died before the timer was set.
                if let due { try await schedule(.retries(app, name, .high), due: due) }
                if broadcasts { try await schedule(.broadcast(app, name, .high), due: now) }
                if late { try await schedule(.late(app, name), due: now) }
                _ = try await redis.run([RedisCommand("ZADD", [.string(keys.open), "XX", .int(now), .string(route)])])
            } else {
                // Only if nothing was published in between: a publish sets the time before it commits.
                _ = try await redis.run([
                    RedisCommand(
                        Lua.queueForget, keys: [.string(keys.open)], arguments: [.string(route), .string(score)])
                ])
            }
        }
        return woken
    }

    /// The push of a name that is swept, or will be next.
    public func firstUnswept(
        _ app: AppKey, _ name: ActivityName
    ) async throws(StoreError) -> (push: PushID, priority: PushPriority)? {
        let tag = keys.tag(app, name)
        let first = try await redis.run([RedisCommand("ZRANGE", [.string(keys.unswept(tag)), "0", "0"])])[0]
        guard let text = try redisErrors({ () throws(RedisError) in try first.array().first?.string() }),
            let push = PushID(text)
        else { return nil }
        let priority = try await redis.run([RedisCommand("HGET", [.string(keys.push(tag, push)), "prio"])])[0]
        let number = try redisErrors { () throws(RedisError) in priority.isNil ? nil : Int(try priority.string()) }
        return (push, number.flatMap(PushPriority.init(rawValue:)) ?? .high)
    }

    /// When the name's first waiting channel is due, epoch ms, now when removals are owed; whether broadcasts wait, and
    /// whether late followers do.
    private func firstDue(
        _ app: AppKey, _ name: ActivityName
    ) async throws(StoreError) -> (due: Int64?, broadcasts: Bool, late: Bool) {
        let tag = keys.tag(app, name)
        let replies = try await redis.run([
            RedisCommand("ZRANGE", [.string(keys.retries(tag)), "0", "0", "WITHSCORES"]),
            RedisCommand("EXISTS", [.string(keys.owed(tag))]),
            RedisCommand("EXISTS", [.string(keys.broadcastLine(tag))]),
            RedisCommand("EXISTS", [.string(keys.late(tag))]),
        ])
        return try redisErrors { () throws(RedisError) in
            let (broadcasts, late) = (try replies[2].integer() == 1, try replies[3].integer() == 1)
            if try replies[1].integer() == 1 { return (0, broadcasts, late) }
            return (replies[0].count == 2 ? try replies[0][1].optionalTime() : nil, broadcasts, late)
        }
    }

    public func depth(_ apps: [AppKey]) async throws(StoreError) -> [QueueDepth] {
        let replies = try await redis.run(apps.flatMap { keys.depth($0) })
        return try redisErrors { () throws(RedisError) in
            try apps.enumerated().map { index, app throws(RedisError) in
                let lengths = try replies[index * Keyspace.depthCommands..<(index + 1) * Keyspace.depthCommands].map {
                    reply throws(RedisError) in try reply.integer()
                }
                var depth = QueueDepth(app: app)
                depth.pushesHigh = lengths[0]
                depth.pushesLow = lengths[1]
                depth.shardTasks = lengths[2] + lengths[3]
                depth.retriesDue = lengths[4]
                return depth
            }
        }
    }
}

extension Keyspace {
    /// How many commands `depth` asks of an app.
    static let depthCommands = WorkStream.allCases.count + 1

    /// The lengths of an app's streams, in the order of `WorkStream.allCases`, and of its timer.
    func depth(_ app: AppKey) -> [RedisCommand] {
        WorkStream.allCases.map { RedisCommand("XLEN", [.string(stream(app, $0))]) }
            + [RedisCommand("ZCARD", [.string(due(app))])]
    }
}
