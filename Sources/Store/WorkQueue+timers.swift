public import LiveActivity
import Redis

extension WorkQueue {
    /// Puts a task off until `due` (epoch ms); an earlier time that stands already is kept.
    public func schedule(_ item: WorkItem, due: Int64) async throws(StoreError) {
        _ = try await redis.run([RedisCommand("ZADD", [.string(keys.due), "LT", .int(due), .string(item.member)])])
    }

    /// Moves what is due into the streams; each task is moved by exactly one worker. Returns how many were.
    /// A worker that dies between reading and moving leaves the task where it was.
    public func moveDue(now: Int64, limit: Int) async throws(StoreError) -> Int {
        let due = try await redis.run([
            RedisCommand("ZRANGEBYSCORE", [.string(keys.due), "-inf", .int(now), "LIMIT", "0", .int(limit)])
        ])[0]
        let members = try redisErrors { () throws(RedisError) in
            try due.array().map { reply throws(RedisError) in try reply.string() }
        }
        if members.isEmpty { return 0 }
        let replies = try await redis.run(
            members.map { member in
                guard let item = WorkItem(member: member) else {
                    return RedisCommand("ZREM", [.string(keys.due), .string(member)])
                }
                return RedisCommand(
                    Lua.queueDue, keys: [.string(keys.due), .string(keys.stream(item.app, item.stream))],
                    arguments: [.string(member), .int(now)] + item.entry)
            })
        var moved = 0
        for reply in replies { moved += try redisErrors { () throws(RedisError) in try reply.integer() } }
        return moved
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
            do throws(StoreError) { first = try await firstUnswept(app, name) } catch {
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

    public func depth(_ apps: [AppKey]) async throws(StoreError) -> [QueueDepth] {
        var depths: [QueueDepth] = []
        let due = try await redis.run([RedisCommand("ZRANGE", [.string(keys.due), "0", "9999"])])[0]
        let waiting = try redisErrors { () throws(RedisError) in
            try due.array().map { reply throws(RedisError) in WorkItem(member: try reply.string())?.app }
        }
        for app in apps {
            let replies = try await redis.run(
                WorkStream.allCases.map { RedisCommand("XLEN", [.string(keys.stream(app, $0))]) })
            let lengths = try redisErrors { () throws(RedisError) in
                try replies.map { reply throws(RedisError) in try reply.integer() }
            }
            var depth = QueueDepth(app: app)
            depth.pushesHigh = lengths[0]
            depth.pushesLow = lengths[1]
            depth.shardTasks = lengths[2] + lengths[3]
            depth.retriesDue = waiting.count { $0 == app }
            depths.append(depth)
        }
        return depths
    }
}
