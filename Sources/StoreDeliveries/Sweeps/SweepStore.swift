public import LiveActivity
package import Redis
public import StoreGround
public import StoreRegistry

/// Sweeps of pushes over their names, and retries: begin, claim, settle. Each call is one script on the name's slot.
public struct SweepStore: Sendable {
    /// Least buckets (about 90 tokens each) of a shard. A push over less than twice that is one shard.
    static let bucketsPerShard = 16
    public static let mostShards = 64
    /// How many owners of a part may crash or stall in a row.
    public static let mostLapses = 8

    package let redis: RedisClient
    package let keys: Keyspace
    package let endings: PushEndings

    package init(redis: RedisClient, keys: Keyspace, endings: PushEndings) {
        self.redis = redis
        self.keys = keys
        self.endings = endings
    }

    /// Begins the name's oldest unswept push, usually `expected`. `minInterval`: time between updates; 0: no pacing.
    public func begin(
        _ app: AppKey, _ name: ActivityName, expecting expected: PushID, owner: String, lease: Duration,
        minInterval: Duration = .zero, mostLapses: Int = SweepStore.mostLapses, budget: HighBudget = HighBudget()
    ) async throws(StoreError) -> (begun: Begun, push: PushID) {
        let tag = keys.tag(app, name)
        var push = expected
        // For a start: the number of buckets of its start tokens.
        var buckets: RedisArgument = ""
        // Each call is about the push that the call before named, which changes when another worker finishes a push.
        for _ in 0..<16 {
            let begin = RedisCommand(
                Lua.pushBegin,
                keys: [
                    "n": keys.name(tag), "q": keys.unswept(tag), "p": keys.push(tag, push), "w": keys.tasks(tag, push),
                    "b": keys.root(tag), "k": keys.catchUp(tag), "o": keys.pendingRemovals(tag),
                    "bc": keys.broadcast(tag), "bt": keys.broadcastQueue(tag), "v": keys.contentStates(tag),
                    "h": keys.retryQueues(tag), "x": keys.quarantine(tag), "e": keys.otherEnvironment(tag),
                    "y": keys.newFollowers(tag),
                ],
                [
                    "id": .string(push.description), "raw": .bytes(push.uuid.bytes), "owner": .string(owner),
                    "length": .int(lease.milliseconds), "leastBuckets": .int(Self.bucketsPerShard),
                    "mostShards": .int(Self.mostShards),
                    "startBuckets": buckets, "interval": .int(minInterval.milliseconds),
                    "mostHigh": .int(budget.perHour), "retention": .int(keys.retention),
                    "ps": .string(keys.pushPrefix(tag)),
                ])
            var reply = try ReplyValues(await redis.run(begin))
            switch try reply.next(.string("state")) {
            case "idle": return (.idle, push)
            case "held": return (.held, push)
            case "planned": return (.planned, push)
            case "paced": return (.paced(.milliseconds(try reply.last(.integer("time left")))), push)
            case "catchUp": return (.catchUp, push)
            case "gone": continue
            case "other":
                guard let other = try reply.last(.push("active push")) else { throw .corrupt("active push") }
                (push, buckets) = (other, "")
            case "starts": buckets = try await startBuckets(app, try reply.last(.string("attributes type")))
            case "plan":
                let (shards, isSplit) = try reply.all(.integer("shards"), .flag("split"))
                return (.plan(try await record(tag, push), WorkItem.Part.shards(shards, isSplit: isSplit)), push)
            case "claimed":
                let part = WorkItem.Part.shard(index: 0, count: 1)
                let claim = try claimed(&reply, mostLapses) { epoch in
                    Lease(app: app, name: name, push: push, part: part, owner: owner, epoch: epoch)
                }
                guard !reply.isEmpty else { return (.claimed(claim(try await record(tag, push), nil)), push) }
                let stored = try reply.next(.bytes("lone push"))
                guard let lone = LonePush(stored, isSent: true) else { throw .corrupt("lone push") }
                let tokens = reply.isEmpty ? nil : try reply.last(.any("tokens"))
                return (.claimed(claim(try PushRecord(lone), tokens)), push)
            case let word: throw .unexpectedReply("push-begin answered \(word)")
            }
        }
        return (.held, push)
    }

    /// Claims a push that its acceptance has begun, for the worker that is the first to read its entry. Asks nothing.
    public func claim(_ handed: HandedPush, of entry: WorkEntry) throws(StoreError) -> Claim {
        let (item, part) = (entry.item, WorkItem.Part.shard(index: 0, count: 1))
        let lease = Lease(
            app: item.app, name: item.name, push: handed.lone.id, part: part, owner: entry.place.id,
            epoch: HandedPush.epoch)
        return Claim(
            lease: lease, record: try PushRecord(handed.lone), position: .start, ahead: [], hasPendingRemovals: false,
            lapses: .none, tokens: handed.tokens)
    }

    /// Makes such a push wait again, because its worker does not send it now. Nothing of it was sent.
    public func giveBack(handed entry: WorkEntry) async throws(StoreError) {
        try await redis.run(
            Lua.pushReturn, keys: ["n": keys.name(keys.tag(entry.item.app, entry.item.name))],
            ["entry": .string(entry.place.id)])
    }

    private func record(_ tag: String, _ push: PushID) async throws(StoreError) -> PushRecord {
        try PushRecord(id: push, try await redis.hash(keys.push(tag, push)))
    }

    /// The count of buckets in the root of a type's start tokens.
    private func startBuckets(_ app: AppKey, _ type: String) async throws(StoreError) -> RedisArgument {
        let root = keys.root(keys.tag(app, .startTokens(of: type)))
        return try await redis.run("HGET", root, "n").optionalBytes().map { .bytes(Array($0)) } ?? "1"
    }

    /// Notes that all shards of a push are in the stream.
    public func markPlanned(_ app: AppKey, _ name: ActivityName, _ push: PushID) async throws(StoreError) {
        let tasks = keys.tasks(keys.tag(app, name), push)
        try await redis.run(Lua.taskPlanned, keys: ["w": tasks])
    }

    /// Claims a shard, or the catch-up behind the shards.
    public func claim(
        _ item: WorkItem, owner: String, lease: Duration, mostLapses: Int = SweepStore.mostLapses
    ) async throws(StoreError) -> ClaimResult {
        let tag = keys.tag(item.app, item.name)
        let record = keys.push(tag, item.push)
        let claim = RedisCommand(
            Lua.taskClaim,
            keys: [
                "p": record, "w": keys.tasks(tag, item.push), "o": keys.pendingRemovals(tag),
                "r": keys.waitingChannels(tag), "q": keys.unswept(tag),
            ],
            [
                "shard": .string(item.part.text), "owner": .string(owner), "length": .int(lease.milliseconds),
            ])
        let (answer, fields) = try await redis.run([claim, RedisCommand("HGETALL", record)], inStepsAt: [1])
            .values(.any("task-claim"), .hash("record"))
        var reply = try ReplyValues(answer)
        switch try reply.next(.string("state")) {
        case "gone": return .gone
        case "held": return .held(.milliseconds(try reply.last(.integer("time left"))))
        case "done": return .done(try Leftovers(&reply))
        case "claimed":
            let claim = try claimed(&reply, mostLapses) { epoch in
                Lease(app: item.app, name: item.name, push: item.push, part: item.part, owner: owner, epoch: epoch)
            }
            let unswept = try reply.last(.integer("unswept pushes"))
            var claimed = claim(try PushRecord(id: item.push, fields), nil)
            claimed.othersWait = unswept > 1
            return .claimed(claimed)
        case let word: throw .unexpectedReply("task-claim answered \(word)")
        }
    }

    /// Prolongs a lease. Returns false if another worker has the lease by now.
    public func renew(_ lease: Lease, for duration: Duration) async throws(StoreError) -> Bool {
        let tag = keys.tag(lease.app, lease.name)
        let isOfName = lease.part == .retries || lease.part == .broadcast
        let key = isOfName ? keys.nameLeases(tag) : keys.tasks(tag, lease.push)
        let reply = try await redis.run(
            Lua.taskRenew, keys: ["leases": key, "n": keys.name(tag)],
            [
                "shard": .string(lease.part.text), "owner": .string(lease.owner), "epoch": .int(lease.epoch),
                "length": .int(duration.milliseconds),
            ])
        return try reply.isOne()
    }

    /// Gives a lease back, so that it cannot be prolonged. Returns false if another worker has the lease by now.
    @discardableResult
    public func giveBack(_ lease: Lease) async throws(StoreError) -> Bool { try await renew(lease, for: .zero) }

    /// Settles a page of a shard, or of the catch-up.
    /// - Parameter record: the record of the push, so that its end can be told without a read
    public func settle(
        _ lease: Lease, for duration: Duration, _ settlement: Settlement, of record: PushRecord? = nil
    ) async throws(StoreError) -> Settled {
        let tag = keys.tag(lease.app, lease.name)
        let (push, bounds, range) = (lease.push, lease.bounds, settlement.range)
        let reply = try await redis.run(
            Lua.taskSettle,
            keys: [
                "n": keys.name(tag), "q": keys.unswept(tag), "p": keys.push(tag, push), "w": keys.tasks(tag, push),
                "r": keys.waitingChannels(tag), "h": keys.retryQueues(tag), "k": keys.catchUp(tag),
                "o": keys.pendingRemovals(tag), "z": keys.openRequests(tag), "f": keys.lateJoiners(tag),
                "pk": keys.keptPushes(tag, push),
            ],
            [
                "id": .string(push.description), "raw": .bytes(push.uuid.bytes), "shard": .string(lease.part.text),
                "owner": .string(lease.owner), "epoch": .int(lease.epoch), "length": .int(duration.milliseconds),
                "from": .int(range.lowerBound.rawValue), "to": .int(range.upperBound.rawValue),
                "first": .int(bounds.lowerBound.rawValue), "last": .int(bounds.upperBound.rawValue),
                "stop": .string(settlement.stop ?? ""), "abandons": settlement.abandonsRest ? "1" : "0",
                "retention": .int(keys.retention), "ps": .string(keys.pushPrefix(tag)),
                "ws": .string(keys.tasksPrefix(tag)), "dls": .string(keys.deadLetterPrefix(tag)),
                "open": redis.isCluster ? "" : .key(keys.open(lease.app, keys.partition(lease.name))),
            ], rest: settlement.arguments)
        var values = try ReplyValues(reply)
        switch try values.next(.string("answer")) {
        case "stale": return .stale
        case "gone": return .gone
        case "ok":
            guard let state = PushState(rawValue: try values.next(.string("state"))) else {
                throw .unexpectedReply("task-settle answered an unknown state")
            }
            let isFinished = try values.next(.flag("finished"))
            let leftovers = try Leftovers(&values)
            if !values.isEmpty {
                endings.note(lease.app, lease.name, ids: try values.last(.string("final pushes")))
            } else if let record {
                let ledger = Ledger(record, lease.name, settlement, state: state)
                endings.note(PushEnding(app: lease.app, name: lease.name, push: lease.push, ledger: ledger))
            }
            return .ok(state: state, isFinished: isFinished, leftovers)
        case let word: throw .unexpectedReply("task-settle answered \(word)")
        }
    }

    /// Work that a name may still need. For an entry that was claimed from a worker that died.
    public func leftovers(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> Leftovers {
        let tag = keys.tag(app, name)
        let (isLone, unswept, firstRetry, removals) = try await redis.run([
            RedisCommand("HEXISTS", keys.name(tag), "lone"), RedisCommand("ZCARD", keys.unswept(tag)),
            RedisCommand("ZRANGE", keys.waitingChannels(tag), "0", "0", "WITHSCORES"),
            RedisCommand("HLEN", keys.pendingRemovals(tag)),
        ]).values(.flag("lone push"), .integer("unswept pushes"), .firstTime("retries"), .integer("pending removals"))
        return Leftovers(
            unswept: unswept + (isLone ? 1 : 0), firstRetry: firstRetry, hasPendingRemovals: removals > 0)
    }

    /// Whether the deadline of the push that is active, or begins next, is over.
    public func isOverdue(_ app: AppKey, _ name: ActivityName, now: Int64) async throws(StoreError) -> Bool {
        let tag = keys.tag(app, name)
        if let lone = try LonePush(await redis.run(keys.lonePush(tag))) {
            return lone.fields.number("until").map { $0 <= now } ?? false
        }
        return try await keys.isOverdue(keys.unswept(tag), tag, redis, now: now)
    }

    /// Shards of a planned push that are not finished and have no live lease.
    public func unfinishedShards(
        _ app: AppKey, _ name: ActivityName, _ push: PushID
    ) async throws(StoreError) -> [WorkItem.Part] {
        let tasks = keys.tasks(keys.tag(app, name), push)
        let (fields, now) = try await redis.run([RedisCommand("HGETALL", tasks), RedisCommand("TIME", near: tasks)])
            .values(.hash("tasks"), .redisTime("time"))
        guard let count = fields.number("shards"), (2...1 << 16).contains(count) else { return [] }
        return WorkItem.Part.shards(count, isSplit: fields.text("split") == "1").filter { part in
            // A deadline that is further away than the lease lasts is of another Redis, whose clock ran ahead.
            let left = (fields.number("\(part.text):d") ?? 0) - Int(now)
            let isHeld = left >= 0 && left <= fields.number("\(part.text):l") ?? left
            return fields.text("\(part.text):f") == nil && !isHeld
        }
    }

    /// Reads a claim up to its lapses. Its record, and the tokens if there are any, come later.
    private func claimed(
        _ values: inout ReplyValues, _ mostLapses: Int, _ lease: (_ epoch: Int) -> Lease
    ) throws(StoreError) -> (PushRecord, _ tokens: Reply?) -> Claim {
        let lease = lease(try values.next(.integer("epoch")))
        let position = UInt64(try values.next(.string("position"))) ?? 0
        let ahead = try values.next(.string("ahead")).split(separator: ",").compactMap { text -> Range<ScanPosition>? in
            let parts = text.split(separator: "-").compactMap { UInt64($0) }
            guard parts.count == 2, parts[0] < parts[1] else { return nil }
            return ScanPosition(parts[0])..<ScanPosition(parts[1])
        }
        let hasPendingRemovals = try values.next(.integer("pending removals")) > 0 || lease.epoch > 1
        let lapses = Lapses(try values.next(.integer("lapses")), most: mostLapses)
        return { record, tokens in
            Claim(
                lease: lease, record: record, position: max(ScanPosition(position), lease.bounds.lowerBound),
                ahead: ahead, hasPendingRemovals: hasPendingRemovals, lapses: lapses, tokens: tokens)
        }
    }

    /// Arrivals after `order` for the catch-up of the active push. They stay until their page is settled.
    public func arrivals(
        _ app: AppKey, _ name: ActivityName, after order: Int64, limit: Int
    ) async throws(StoreError) -> [CatchUpArrival] {
        let key = keys.catchUp(keys.tag(app, name))
        let reply = try await redis.run(
            "ZRANGEBYSCORE", key, .string("(\(order)"), "+inf", "WITHSCORES", "LIMIT", "0", .int(limit))
        return try reply.pairs().map { channel, order throws(StoreError) in
            CatchUpArrival(channel: Array(try channel.bytes()), order: try order.optionalTime() ?? .max)
        }
    }
}

extension Keyspace {
    /// Whether the deadline of the first push of a queue is over.
    func isOverdue(
        _ queue: RedisKey, _ tag: String, _ redis: RedisClient, now: Int64
    ) async throws(StoreError) -> Bool {
        let first = try await redis.run("ZRANGE", queue, "0", "0").strings().first
        guard let first, let id = PushID(first) else { return false }
        let deadline = try await redis.run("HGET", push(tag, id), "until")
        return deadline.isNil ? false : try deadline.optionalTime().map { $0 <= now } ?? false
    }
}

extension Leftovers {
    /// Reads the next values of a script's answer.
    fileprivate init(_ values: inout ReplyValues) throws(StoreError) {
        unswept = try values.next(.integer("unswept pushes"))
        firstRetry = try values.next(.optionalTime("first retry"))
        hasPendingRemovals = try values.next(.integer("pending removals")) > 0
        catchUpWaits = try values.next(.flag("catch-up"))
    }
}
