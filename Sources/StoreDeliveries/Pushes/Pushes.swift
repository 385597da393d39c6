public import LiveActivity
package import Redis
public import StoreGround

public enum Acceptance: Sendable, Hashable {
    /// `timestamp` is the payload's timestamp, epoch seconds.
    case accepted(PushID, sequence: Int, timestamp: Int)
    case refused(AcceptanceRefusal)
}

/// Accepted publishes and their ledgers.
public struct Pushes: Sendable {
    /// Most unswept pushes of one name. Only pushes that cannot be superseded reach this number.
    static let mostUnswept = 1_000
    /// How many ids are tried until the node of one is there. The ids of an hour are on up to eight nodes.
    private static let mostTries = 64

    package let redis: RedisClient
    package let keys: Keyspace
    package let time: ServerTime
    package let replicas: ReplicaWait?
    package let memory: RegistryMemory
    package let index: PushIndex
    /// Apps whose outgoing events tell when a push is final.
    package let telling: Set<AppKey>
    package let endings: PushEndings
    let wakes = WakeGuess()

    package init(
        redis: RedisClient, keys: Keyspace, time: ServerTime, replicas: ReplicaWait?, memory: RegistryMemory,
        index: PushIndex, telling: Set<AppKey>, endings: PushEndings
    ) {
        self.redis = redis
        self.keys = keys
        self.time = time
        self.replicas = replicas
        self.memory = memory
        self.index = index
        self.telling = telling
        self.endings = endings
    }

    /// Commits one publish on its name's slot and wakes a worker. Returns when Redis has the push.
    ///
    /// Order of the writes, and what a crash after each leaves:
    /// 1. The index: it leads nowhere and expires.
    /// 2. In a cluster, the name among the open ones: the reconciler finds nothing to do.
    /// 3. The commit. On one server it adds the name to the open ones, and the entry that wakes a worker. In a cluster
    ///    the reconciler wakes one, or the name's next publish does after a few seconds.
    /// 4. In a cluster, the wake-up.
    /// - Parameters:
    ///   - id: to commit the same id again changes nothing and gets the same answer.
    ///   - payload: `PushContent.stored`, with the payload that `APNsWire.Payload` renders.
    ///   - timestampOffset: position of the timestamp's ten digits in the payload.
    ///   - isRepeatable: another process may commit the same id, now or earlier.
    ///   - bounds: if the queues are full, only a push that supersedes a waiting one is accepted.
    ///   - handing: how workers begin pushes, so that this call may do it. Nil: a worker begins the push.
    ///   - cutoff: makes the push an automatic end, for cards that started at this time (epoch ms) or earlier.
    ///   - now: time of acceptance, epoch ms. Nil is Redis's own; a due schedule has the time when it was found due.
    /// - Throws: `unreplicated` if too few replicas confirm the push, which may still go out. The same id asks again.
    public func accept(
        _ app: AppKey, _ publish: Publish, id: PushID, payload: [UInt8], timestampOffset: Int,
        isRepeatable: Bool = false, bounds: QueueBounds? = nil, handing: Handing? = nil, cutoff: Int64? = nil,
        now: Int64? = nil
    ) async throws(StoreError) -> Acceptance {
        if let channel = publish.options.trace {
            // Before the commit, because a worker may send the push right after it.
            try await redis.run(ExchangeLog.open(keys, keys.tag(app, publish.name), id, channel))
        }
        let arrival = now ?? time.now()
        let preparations =
            index.note(app, id, publish.name, now: arrival)
            + (redis.isCluster ? [noteOpen(app, publish.name, at: arrival)] : [])
        let tokens = RegistryMemory.Key(app: app, tokens: .activity(publish.name))
        let asks = bounds != nil && !memory.isFollowed(tokens, now: time.now())
        let item = WorkItem(app: app, name: publish.name, push: id, priority: publish.priority, part: .name)
        let (entry, route) = (WorkQueue.add(keys, item), WorkQueue.route(app, publish.name))
        let mayHand = bounds.map { $0.isShort(for: app) } ?? true
        func commit(isFull: Bool) -> RedisCommand {
            commitCommand(
                item, publish, payload, timestampOffset, isFull: isFull, asks: asks, cutoff, now,
                mayHand ? handing : nil)
        }

        if let scope = try await fullQueue(app, bounds) {
            return try await acceptWhenFull(
                app, publish, id, commit(isFull: true), then: preparations, entry, scope)
        }

        let commitIndex = preparations.count
        // On one server the commit adds the entry.
        let addsEntry = redis.isCluster && wakes.needsEntry(route)
        let measured = bounds?.toMeasure(for: app, now: bootClock()) ?? []
        // The measurement asks all nodes of a cluster, and a push needs only some of them.
        let depths = redis.isCluster ? [] : measured.flatMap { keys.depth($0) }
        if redis.isCluster, let bounds, !measured.isEmpty { Task { try? await measure(measured, bounds) } }
        let replies = try await inSteps(
            preparations, commit(isFull: false),
            (addsEntry ? [entry] : []) + index.packing(app, id, now: arrival) + depths)
        if !depths.isEmpty { bounds?.note(measured, replies.suffix(depths.count).map { $0 }[...], keys.depthCommands) }
        // If Redis refused only the wake-up, the reconciler finds the name. Without the index, nobody finds the ledger.
        let refusal = replies.prefix(commitIndex).lazy.compactMap(\.error).first
        if let error = replies[commitIndex].error {
            if !isRepeatable { await forget(app, id, publish.name) }
            throw .redis(refusal ?? error)
        }
        let answer = try CommitAnswer(id, replies[commitIndex], full: .name)
        // One server runs the commit after a refusal, and may have got room in between.
        if refusal != nil, case .accepted = answer.acceptance { try await redis.run(preparations) }
        if let time = answer.acceptedBefore { try await leaveHour(app, publish.name, id, arrival, acceptedAt: time) }
        endings.note(app, publish.name, ids: answer.superseded, supersededBy: id)
        if redis.isCluster { wakes.learn(route, needed: answer.wake == .first) }
        if asks, answer.isFollowed { memory.followed(tokens, at: time.now()) }
        if case .refused = answer.acceptance, !isRepeatable { await forget(app, id, publish.name) }
        if answer.wake != .no, !addsEntry { _ = try? await redis.replies([entry]) }
        if case .accepted = answer.acceptance { try await confirm(app, publish, id) }
        return answer.acceptance
    }

    /// A repetition leaves its hour of the index. If the process dies before, `shows` leaves it out.
    private func leaveHour(
        _ app: AppKey, _ name: ActivityName, _ id: PushID, _ arrival: Int64, acceptedAt time: Int64
    ) async throws(StoreError) {
        let drops = index.drops(app, id, name, repeatedAt: arrival, acceptedAt: time)
        if !drops.isEmpty { try await redis.run(drops) }
    }

    /// Accepts only a push that supersedes a waiting one. The commit comes first, because the name is already among the
    /// open ones.
    private func acceptWhenFull(
        _ app: AppKey, _ publish: Publish, _ id: PushID, _ commit: RedisCommand, then preparations: [RedisCommand],
        _ entry: RedisCommand, _ scope: QueueScope
    ) async throws(StoreError) -> Acceptance {
        let answer = try CommitAnswer(id, await redis.run(commit), full: scope)
        endings.note(app, publish.name, ids: answer.superseded, supersededBy: id)
        if case .accepted = answer.acceptance {
            // One that is known already is in the index.
            try await redis.run(
                (answer.acceptedBefore == nil ? preparations : []) + (answer.wake == .no ? [] : [entry]))
            try await confirm(app, publish, id)
        }
        return answer.acceptance
    }

    /// Notes in a cluster that the name has work. On one server the commit does it, because a command before it would
    /// leave a gap: a handed push that ends in between takes the name out again.
    private func noteOpen(_ app: AppKey, _ name: ActivityName, at time: Int64) -> RedisCommand {
        RedisCommand("ZADD", keys.open(app, keys.partition(name)), .int(time), .string(name.rawValue))
    }

    /// In steps: the streams are on another slot, and an entry that is read before the commit wakes no worker.
    private func inSteps(
        _ preparations: [RedisCommand], _ commit: RedisCommand, _ rest: [RedisCommand]
    ) async throws(StoreError) -> [Reply] {
        guard redis.isCluster else {
            return try await redis.replies(
                preparations + [commit] + rest, inStepsAt: [preparations.count, preparations.count + 1])
        }
        let prepared: [Reply]
        do throws(StoreError) { prepared = try await redis.replies(preparations) } catch {
            // Nothing is committed yet, whichever node failed.
            if case .redis(.lost(let why)) = error { throw .redis(.unreachable(why)) }
            throw error
        }
        if let refusal = prepared.first(where: { $0.error != nil }) {
            return prepared + Array(repeating: refusal, count: 1 + rest.count)
        }
        return prepared + (try await redis.replies([commit] + rest, inStepsAt: [1]))
    }

    /// New ids for pushes of one request, in their order. In a cluster, the index has them on nodes that are not known
    /// to be away.
    public func freshIDs(_ app: AppKey, count: Int) -> [PushID] {
        let now = time.now()
        return (0..<count).map { position in
            var id = PushID.ordered(at: now, index: position)
            for _ in 0..<(redis.isCluster ? Self.mostTries : 0) where redis.isAway(index.key(app, id)) {
                id = .ordered(at: now, index: position)
            }
            return id
        }
    }

    private func confirm(_ app: AppKey, _ publish: Publish, _ id: PushID) async throws(StoreError) {
        try await confirm(
            app, publish.name, id,
            elsewhere: index.proofs(app, id, publish.name) + [
                // The reconciler looks at the name a millisecond later.
                ReplicaWait.proof(
                    keys.open(app, keys.partition(publish.name)), member: publish.name.rawValue, shift: 1)
            ])
    }

    /// Returns when enough replicas have the push as it is now, if any have to.
    func confirm(
        _ app: AppKey, _ name: ActivityName, _ id: PushID, elsewhere: @autoclosure () -> [RedisCommand] = []
    ) async throws(StoreError) {
        guard let replicas else { return }
        let tag = keys.tag(app, name)
        try await replicas.confirm(
            push: keys.push(tag, id), life: keys.retention,
            small: (id, keys.name(tag), keys.nameRetention, keys.keptPushes(tag, id)), elsewhere: elsewhere())
    }

    /// The queue that is full, or nil. Measures again before a refusal, because workers may have made room since.
    private func fullQueue(_ app: AppKey, _ bounds: QueueBounds?) async throws(StoreError) -> QueueScope? {
        guard let bounds, bounds.fullQueue(for: app) != nil else { return nil }
        try await measure(bounds.apps, bounds)
        return bounds.fullQueue(for: app)
    }

    private func measure(_ apps: [AppKey], _ bounds: QueueBounds) async throws(StoreError) {
        let replies = try await redis.apart(apps.flatMap { keys.depth($0) })
        bounds.note(apps, replies[...], keys.depthCommands)
    }

    /// Deletes the index of a push that was not committed. Keep it if another process may commit the same id.
    private func forget(_ app: AppKey, _ id: PushID, _ name: ActivityName) async {
        _ = try? await CallChanges.leavingOut { () throws(StoreError) in
            try await redis.replies([index.drop(app, id, name)])
        }
    }

    private func commitCommand(
        _ item: WorkItem, _ publish: Publish, _ payload: [UInt8], _ timestampOffset: Int, isFull: Bool, asks: Bool,
        _ cutoff: Int64?, _ now: Int64?, _ handing: Handing?
    ) -> RedisCommand {
        let (app, id, tag) = (item.app, item.push, keys.tag(item.app, item.name))
        func optional(_ number: (some BinaryInteger)?) -> RedisArgument { number.map { .int($0) } ?? "" }
        // Each argument is a string that Redis makes for the script, so the flags are one.
        func digits(_ flags: Bool...) -> String { flags.map { $0 ? "1" : "0" }.joined() }
        let flags =
            digits(
                publish.isSupersedable, publish.event == .end && publish.contentState == nil,
                PushContent.payloadBytes(stored: payload) > Publish.maximumTokenPayload, publish.isDemotable)
            + StartOptions(publish.options).stored
            + digits(isFull, asks, telling.contains(app), publish.options.trace != nil)
        return RedisCommand(
            Lua.pushAccept,
            keys: [
                "n": keys.name(tag), "q": keys.unswept(tag), "p": keys.push(tag, id), "b": keys.root(tag),
                "k": keys.catchUp(tag), "o": keys.pendingRemovals(tag), "bc": keys.broadcast(tag),
                "bt": keys.broadcastQueue(tag), "v": keys.contentStates(tag), "h": keys.retryQueues(tag),
                "x": keys.quarantine(tag), "e": keys.otherEnvironment(tag), "y": keys.newFollowers(tag),
                "f": keys.lateJoiners(tag), "out": keys.outbox(tag),
            ],
            [
                "id": .string(id.description), "event": .string(publish.event.rawValue),
                "priority": .int(publish.priority.rawValue), "audience": .bytes(publish.audience.encoded),
                "at": optional(now), "timestamp": optional(publish.timestamp), "payload": .bytes(payload),
                "offset": .int(timestampOffset), "flags": .string(flags + (publish.publisher?.stored ?? "")),
                "expiry": optional(publish.options.expiry),
                "life": .int((publish.life ?? publish.event.life).milliseconds),
                "attributesType": .string(publish.startType ?? ""),
                "stale": optional(publish.event == .start ? publish.staleDate : nil),
                "traceparent": .string(publish.traceparent ?? ""), "cutoff": optional(cutoff),
                "mostUnswept": .int(Self.mostUnswept), "retention": .int(keys.retention),
                "ps": .string(keys.pushPrefix(tag)),
                "ws": .string(keys.tasksPrefix(tag)),
                // In a cluster, these two are on another slot.
                "stream": redis.isCluster ? "" : .key(keys.stream(of: item)),
                "open": redis.isCluster ? "" : .key(keys.open(app, keys.partition(item.name))),
                "name": .string(item.name.rawValue),
                "hand": redis.isCluster ? "" : .string(handing?.stored ?? ""),
            ], rest: publish.options.after.stored.map { [.string($0)] } ?? [])
    }

    /// The answer of push-accept.
    private struct CommitAnswer {
        /// Whether the caller must add an entry to a stream. `no`: the name has one. `first`: no other push waits.
        /// `again`: others wait, but their entry may be lost or does not suit this push.
        enum Wake: Int { case no, first, again }

        let acceptance: Acceptance
        var wake = Wake.no
        /// A channel follows the name. False: this is not known.
        var isFollowed = false
        /// The ids of the pushes that this one superseded.
        var superseded = ""
        /// When an earlier call with this id was accepted, epoch ms. Nil: there was none.
        var acceptedBefore: Int64?

        init(_ id: PushID, _ reply: Reply, full scope: QueueScope) throws(StoreError) {
            var reply = try ReplyValues(reply)
            switch try reply.next(.string("state")) {
            case "ok":
                acceptance = .accepted(
                    id, sequence: try reply.next(.integer("sequence")), timestamp: try reply.next(.integer("timestamp"))
                )
                wake = Wake(rawValue: try reply.next(.integer("wake"))) ?? .again
                if !reply.isEmpty { isFollowed = try reply.next(.flag("followed")) }
                if !reply.isEmpty { superseded = try reply.next(.string("superseded pushes")) }
                if !reply.isEmpty { acceptedBefore = try reply.next(.time("earlier acceptance")) }
            case "behind":
                acceptance = .refused(.timestampBehind(last: try reply.next(.integer("last timestamp"))))
            case "closed": acceptance = .refused(.nameClosed)
            case "nameFull": acceptance = .refused(.queueFull(.name, retryAfter: 5))
            case "queuesFull": acceptance = .refused(.queueFull(scope, retryAfter: 5))
            case "conflict": acceptance = .refused(.conflict(newest: PushID(try reply.next(.string("newest push")))))
            case let other: throw .unexpectedReply("push-accept answered \(other)")
            }
        }
    }

    /// Reserves an idempotency key's push ids for 24 h, before the commit, so that a repeated request commits the same.
    /// - Returns: the ids that were reserved for the same body (`bodyDigest`); nil: the key was used with another body.
    public func reserve(
        _ app: AppKey, idempotencyKey: String, bodyDigest: [UInt8], ids: [PushID]
    ) async throws(StoreError) -> [PushID]? {
        let key = keys.idempotency(app, idempotencyKey)
        let value = bodyDigest + ids.flatMap(\.uuid.bytes)
        let (_, stored) = try await CallChanges.leavingOut { () throws(StoreError) in
            try await redis.run([
                RedisCommand("SET", key, .bytes(value), "NX", "EX", "86400"), RedisCommand("GET", key),
            ]).values(.any("SET"), .bytes("reserved ids"))
        }
        // On one server, the confirmation of the push covers the key too.
        if redis.isCluster { try await replicas?.confirm(push: key, life: 86_400_000) }
        guard stored.starts(with: bodyDigest) else { return nil }
        let reserved = stored.dropFirst(bodyDigest.count)
        guard reserved.count == 16 * ids.count else { throw .corrupt("idempotency record") }
        return stride(from: reserved.startIndex, to: reserved.endIndex, by: 16).compactMap { start in
            UUIDBytes(bytes: reserved[start..<start + 16]).map(PushID.init)
        }
    }

    public func ledger(_ app: AppKey, _ id: PushID) async throws(StoreError) -> Ledger? {
        guard let name = try await name(of: id, app) else { return nil }
        return try await ledger(app, name, id)
    }

    public func ledger(_ app: AppKey, _ name: ActivityName, _ id: PushID) async throws(StoreError) -> Ledger? {
        let fields = try await redis.pushFields(keys, [(keys.tag(app, name), id)])[0]
        return fields.isEmpty ? nil : try Ledger(id: id, name: name, fields)
    }

    /// Cancels the unsent part of a push. A finished push stays as it is. The time is Redis's own, as in `accept`.
    /// - Returns: the ledger afterwards. Nil if there is no such push.
    /// - Throws: `unreplicated` if too few replicas confirm it. It is cancelled unless a failover loses that.
    public func cancel(_ app: AppKey, _ id: PushID, now: Int64? = nil) async throws(StoreError) -> Ledger? {
        guard let name = try await name(of: id, app) else { return nil }
        let tag = keys.tag(app, name)
        let outcome = try await redis.run(
            Lua.pushCancel,
            keys: [
                "n": keys.name(tag), "q": keys.unswept(tag), "p": keys.push(tag, id), "w": keys.tasks(tag, id),
                "pk": keys.keptPushes(tag, id),
            ], ["id": .string(id.description), "at": now.map { .int($0) } ?? ""]
        ).integer()
        // An older push waits again. If the wake-up is lost, the reconciler finds it.
        if outcome == 4 {
            let wake = WorkItem(app: app, name: name, push: id, priority: .high, part: .name)
            _ = try? await redis.replies([WorkQueue.add(keys, wake)])
        }
        // A worker moves the event out of the outbox. If the wake-up is lost, the reconciler finds the outbox.
        if telling.contains(app) { _ = try? await redis.replies([WorkQueue.add(keys, .outbox(app, name))]) }
        if outcome > 1 { try await confirm(app, name, id) }
        let ledger = try await ledger(app, name, id)
        // 2 to 4: this call ended it.
        if outcome > 1 { endings.note(PushEnding(app: app, name: name, push: id, ledger: ledger)) }
        return ledger
    }

    /// The name of a push, if the push belongs to this app.
    package func name(of id: PushID, _ app: AppKey) async throws(StoreError) -> ActivityName? {
        try await index.name(of: id, app)
    }
}

extension Publish {
    /// The type at which the tokens of a start are registered.
    fileprivate var startType: String? {
        event == .start ? platforms.first?.startType(attributesType) : attributesType
    }
}

/// Why the store refused a publish. Nothing was changed then.
public enum AcceptanceRefusal: Sendable, Hashable {
    /// The publisher's timestamp is older than the name's last one (epoch seconds): 409.
    case timestampBehind(last: Int)
    /// The name is closed: it ended, and no new card and no start has opened it since: 409.
    case nameClosed
    /// The condition of the push does not hold, because this push is the newest one. Nil: the name has none: 409.
    case conflict(newest: PushID?)
    /// Too much work waits: 429, with the seconds to wait.
    case queueFull(QueueScope, retryAfter: Int)
}
