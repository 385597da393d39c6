public import LiveActivity
import Redis
public import StoreGround
public import StoreRegistry

public enum RetryClaim: Sendable {
    /// No channel waits and no removal is pending.
    case idle
    case held(Duration)
    case claimed(Lease, hasPendingRemovals: Bool, Lapses)
}

public enum RetrySettled: LeaseAnswer, Equatable {
    /// Another worker has the lease. Nothing was written. Begin nothing more.
    case stale
    /// `firstRetry`: when the name's first waiting channel is due, epoch ms.
    case ok(firstRetry: Int64?)
    public var keepsLease: Bool { self != .stale }
    public var endsLease: Bool { false }
}

extension SweepStore {
    /// Claims a name's waiting channels. One worker at a time sends to them.
    public func claimRetries(
        _ app: AppKey, _ name: ActivityName, owner: String, lease: Duration, mostLapses: Int = SweepStore.mostLapses
    ) async throws(StoreError) -> RetryClaim {
        let tag = keys.tag(app, name)
        let claim = RedisCommand(
            Lua.retryClaim,
            keys: ["l": keys.nameLeases(tag), "r": keys.waitingChannels(tag), "o": keys.pendingRemovals(tag)],
            [
                "owner": .string(owner), "length": .int(lease.milliseconds), "retention": .int(keys.retention),
            ])
        var values = try ReplyValues(await redis.run(claim))
        switch try values.next(.string("state")) {
        case "idle": return .idle
        case "held": return .held(.milliseconds(try values.last(.integer("time left"))))
        case "claimed":
            let (epoch, removals, lapses) = try values.all(
                .integer("epoch"), .integer("pending removals"), .integer("lapses"))
            return .claimed(
                Lease(app: app, name: name, push: .none, part: .retries, owner: owner, epoch: epoch),
                hasPendingRemovals: removals > 0, Lapses(lapses, most: mostLapses))
        case let word: throw .unexpectedReply("retry-claim answered \(word)")
        }
    }

    /// At most `limit` channels whose attempt is due. They stay in their retry queues until they are settled. Retry
    /// queues that cannot be read are removed, because they would come before the others for ever. A channel comes with
    /// the push that goes out next, which is the second of its queue if that may supersede the first. Channels with an
    /// open request are left out: only its owner or the end of its time ends it.
    /// - Parameter tokens: where they are looked up, at the same moment as the retry queues are read.
    public func dueChannels(
        _ lease: Lease, _ tokens: Tokens, now: Int64, limit: Int
    ) async throws(StoreError) -> [WaitingChannel] {
        let tag = keys.tag(lease.app, lease.name)
        let reply = try await redis.run(
            "ZRANGEBYSCORE", keys.waitingChannels(tag), "-inf", .int(now), "LIMIT", "0", .int(limit))
        let channels = try reply.byteStrings()
        if channels.isEmpty { return [] }
        let fields = channels.map { RedisArgument.bytes($0) }
        let asked =
            [keys.retryQueues(tag), keys.quarantine(tag), keys.otherEnvironment(tag)]
            .map { RedisCommand("HMGET", $0, fields) }
            + [
                RedisCommand("ZMSCORE", keys.newFollowers(tag), fields),
                RedisCommand("HMGET", keys.openRequests(tag), fields),
            ]
        let (entries, _, replies) = try await tokens.lookup(
            keys.place(lease.app, .activity(lease.name)), channels,
            and: asked + [RedisCommand("HMGET", keys.name(tag), "ends", "some_ends")])
        var others = RetrySettlement()
        for reply in replies.dropLast() {
            try StoreError.check(reply.count, of: "HMGET", is: channels.count)
        }
        let (queues, quarantined, elsewhere, began, open, meta) = try replies.values(
            .any("retry queues"), .any("quarantine"), .any("other environment"), .any("new followers"),
            .any("open requests"), .any("name"))
        let (ends, someEnds) = try meta.values(.any("ends"), .any("some_ends"))
        let closings = try Closings(ends, forSome: someEnds)
        var due: [WaitingChannel] = []
        for (index, channel) in channels.enumerated() {
            let queue = queues[index]
            let entry = entries[index]
            if !open[index].isNil {
                // Its worker died, or could not settle the answer. It is due once more when its time is over.
                others.lapse(channel)
            } else if !queue.isNil, var waiting = WaitingChannel(channel: channel, queue: try queue.bytes()) {
                if !began[index].isNil, let since = try began[index].optionalTime() {
                    (waiting.followsSince, waiting.closings) = (since, closings)
                }
                waiting.follows = entry != nil
                waiting.startedAt = entry?.startedAt
                try waiting.take(entry, quarantine: quarantined[index], elsewhere: elsewhere[index])
                due.append(waiting)
            } else {
                others.discard(channel)
            }
        }
        if !others.isEmpty {
            _ = try await settle(lease, for: .seconds(10), others)
            // Requests that are over wait for the next look, so the caller must not take this one for the last.
            if due.isEmpty { return try await dueChannels(lease, tokens, now: now, limit: limit) }
        }
        try await address(&due, lease.app, tokens)
        let behind = due.compactMap(\.nextPush)
        if behind.isEmpty { return due }
        let records = try await records(lease.app, lease.name, Set(due.map(\.push) + behind))
        for index in due.indices { due[index].takeNext(records) }
        return due
    }

    /// Gives followers their addresses, where these are kept with the channels.
    private func address(
        _ due: inout [WaitingChannel], _ app: AppKey, _ tokens: Tokens
    ) async throws(StoreError) {
        let followers = due.indices.filter { due[$0].token != nil }.map { ($0, due[$0].platform) }
        for (index, address) in try await tokens.addresses(app, of: followers, ChannelList(due.map(\.channel))) {
            due[index].unreachable = address.unreachable
            if !address.token.isEmpty { due[index].token = address.token }
        }
    }

    public func settle(
        _ lease: Lease, for duration: Duration, _ settlement: RetrySettlement
    ) async throws(StoreError) -> RetrySettled {
        try await settle(lease.app, lease.name, settlement, under: lease, for: duration)
    }

    /// Settles what needs no lease: answers to open requests, and `end`s that were delivered in a page whose lease is
    /// lost. An answer to a request that lapsed changes nothing, unless it is the 200 of an `end`.
    public func settleLate(
        _ app: AppKey, _ name: ActivityName, _ settlement: RetrySettlement
    ) async throws(StoreError) -> RetrySettled {
        try await settle(app, name, settlement, under: nil, for: .zero)
    }

    private func settle(
        _ app: AppKey, _ name: ActivityName, _ settlement: RetrySettlement, under lease: Lease?, for duration: Duration
    ) async throws(StoreError) -> RetrySettled {
        let tag = keys.tag(app, name)
        let arguments: KeyValuePairs<String, RedisArgument> = [
            "owner": .string(lease?.owner ?? ""), "epoch": .int(lease?.epoch ?? 0),
            "length": .int(duration.milliseconds), "late": lease == nil ? "1" : "0",
            "retention": .int(keys.retention), "ps": .string(keys.pushPrefix(tag)),
            "ws": .string(keys.tasksPrefix(tag)), "dls": .string(keys.deadLetterPrefix(tag)),
        ]
        let locations: KeyValuePairs = [
            "l": keys.nameLeases(tag), "r": keys.waitingChannels(tag), "h": keys.retryQueues(tag),
            "o": keys.pendingRemovals(tag), "z": keys.openRequests(tag),
        ]
        let replies = try await redis.run(
            settlement.parts.map { RedisCommand(Lua.retrySettle, keys: locations, arguments, rest: $0) })
        var firstRetry: Int64?
        for reply in replies {
            var values = try ReplyValues(reply)
            switch try values.next(.string("state")) {
            case "stale": return .stale
            case "ok":
                let (due, _, final) = try values.all(.optionalTime("due"), .any("removals"), .string("final pushes"))
                endings.note(app, name, ids: final)
                firstRetry = due
            case let word: throw .unexpectedReply("retry-settle answered \(word)")
            }
        }
        return .ok(firstRetry: firstRetry)
    }

    /// The records of pushes. Expired records are left out.
    public func records(
        _ app: AppKey, _ name: ActivityName, _ pushes: Set<PushID>
    ) async throws(StoreError) -> [PushID: PushRecord] {
        let tag = keys.tag(app, name)
        let ids = Array(pushes)
        var records: [PushID: PushRecord] = [:]
        for (id, fields) in zip(ids, try await redis.pushFields(keys, ids.map { (tag, $0) })) where !fields.isEmpty {
            records[id] = try? PushRecord(id: id, fields)
        }
        return records
    }
}

extension SweepStore {
    /// Brings forward the attempts of a name's waiting channels, once after each step back of Redis's clock. Only the
    /// holder of the name's retries may do so. If it dies half way, the next one begins again, and some attempts come
    /// too early.
    public func hasten(_ lease: Lease, _ step: ServerTime.Step, now: Int64) async throws(StoreError) {
        let tag = keys.tag(lease.app, lease.name)
        let number = RedisArgument.int(step.number)
        let done = try await redis.run("HGET", keys.nameLeases(tag), "r:s").optionalString()
        guard done != "\(step.number)" else { return }
        try await WorkQueue.hasten(redis, keys.waitingChannels(tag), step, now: now)
        try await redis.run("HSET", keys.nameLeases(tag), "r:s", number)
    }
}
