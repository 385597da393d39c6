public import LiveActivity
import Redis
public import StoreGround

extension DeadLetters {
    /// Channels in one step. The scripts stay well under 5 ms.
    private static let step = 200
    /// Retry queues in one read.
    private static let look = 500

    /// Retries what a push gave up. Refused if a newer push of its name that stands has begun, or if its deadline is
    /// past.
    ///
    /// It works in steps, each of which is complete. A crash in between leaves the rest in the dead letter, and a
    /// repeated call goes on there. The order, and what finds the work after a crash behind each step:
    /// 1. The name is put among the open ones, and its retries into the timer. Nothing is due yet.
    /// 2. The entries of a stopped push leave the retry queues and become channels of the dead letter.
    /// 3. The sweep of a stopped push is resumed. The reconciler finds it.
    /// 4. The channels join the retry queues. The timer finds them.
    /// 5. The wake-up.
    /// 6. The index. An entry without a record is dropped by the next list.
    /// 7. Replicas confirm it, if they have to. Else it throws `unreplicated`, and a repeated call finds nothing to
    ///    retry.
    public func retry(_ app: AppKey, _ push: PushID) async throws(StoreError) -> DeadRetry {
        guard let name = try await pushes.name(of: push, app) else { return .none }
        let tag = keys.tag(app, name)
        let fields = try await redis.hash(keys.push(tag, push))
        if fields.isEmpty { return .none }
        let record = try PushRecord(id: push, fields)
        let isResumed: Bool
        switch try await answer(app, name, record, "look") {
        case .word("takes"): isResumed = false
        case .word("resumes"): isResumed = true
        case .refused(let refusal): return refusal
        case let other: throw .unexpectedReply("dead-retry answered \(other)")
        }
        let now = clock()
        let retries = WorkItem.retries(app, name, record.priority)
        try await redis.run("ZADD", keys.open(app, keys.partition(name)), .int(now), .string(name.rawValue))
        try await queue.schedule(retries, due: now + 30_000)
        if isResumed {
            try await collect(tag, push)
            if case .refused(let refusal) = try await answer(app, name, record, "resume") { return refusal }
            try await queue.add([
                WorkItem(app: app, name: name, push: push, priority: record.priority, part: .name),
                .broadcast(app, name, record.priority),
            ])
        }
        var (tokens, cursor, left) = (0, "0", 1)
        steps: while left > 0 {
            switch try await answer(app, name, record, "take", cursor) {
            case .taken(let count, let next, let rest): (tokens, cursor, left) = (tokens + count, next, rest)
            // It was stopped once more, by an answer that came in between.
            case .refused(.notFinished) where tokens == 0: return .notFinished
            default: break steps
            }
        }
        try await queue.schedule(retries, due: now)
        if left == 0 { _ = try await drop(app, push) }
        try await pushes.confirm(app, name, push)
        return .taken(tokens: tokens, isResumed: isResumed)
    }

    private enum Answer {
        case word(String)
        case taken(Int, next: String, left: Int)
        case refused(DeadRetry)
    }

    private func answer(
        _ app: AppKey, _ name: ActivityName, _ record: PushRecord, _ step: String, _ cursor: String = "0"
    ) async throws(StoreError) -> Answer {
        let (tag, push) = (keys.tag(app, name), record.id)
        let reply = try await redis.run(
            Lua.deadRetry,
            keys: [
                "n": keys.name(tag), "q": keys.unswept(tag), "p": keys.push(tag, push), "w": keys.tasks(tag, push),
                "r": keys.waitingChannels(tag), "h": keys.retryQueues(tag), "dl": keys.deadLetter(tag, push),
                "dlc": keys.deadChannels(tag, push), "bt": keys.broadcastQueue(tag), "v": keys.contentStates(tag),
            ],
            [
                "id": .string(push.description), "raw": .bytes(push.uuid.bytes), "deadline": .int(record.deadline),
                "retention": .int(keys.retention), "step": .string(step), "cursor": .string(cursor),
                "pageSize": .int(Self.step),
            ])
        var values = try ReplyValues(reply)
        switch try values.next(.string("state")) {
        case "none": return .refused(.none)
        case "expired": return .refused(.expired)
        case "open": return .refused(.notFinished)
        case "newer": return .refused(.newer(try values.last(.push("newer push"))))
        case "taken":
            let (count, next, left, final) = try values.all(
                .integer("channels"), .string("cursor"), .integer("left"), .string("final push"))
            if !final.isEmpty { await tellEnd(app, name, push) }
            return .taken(count, next: next, left: left)
        case let word: return .word(word)
        }
    }

    /// Tells that the push became final, because nothing of its dead letter was left to send.
    private func tellEnd(_ app: AppKey, _ name: ActivityName, _ push: PushID) async {
        // The retry is done, whether its log line can be written or not.
        guard let ledger = try? await pushes.ledger(app, name, push) else { return }
        pushes.endings.note(PushEnding(app: app, name: name, push: push, ledger: ledger))
    }

    /// Moves a stopped push's entries from the retry queues to its dead letter. None join them, so one look is enough.
    private func collect(_ tag: String, _ push: PushID) async throws(StoreError) {
        let id = push.uuid.bytes
        try await redis.eachPart("HSCAN", keys.retryQueues(tag), "COUNT", .int(Self.look)) {
            queues throws(StoreError) in
            var channels: [RedisArgument] = []
            for (channel, value) in try queues.pairs() {
                let queue = try value.bytes()
                // Behind a header of 3 bytes come the push ids, 16 bytes each.
                let positions = stride(from: queue.startIndex + 3, to: queue.endIndex - 15, by: 16)
                if positions.contains(where: { queue[$0..<$0 + 16].elementsEqual(id) }) {
                    channels.append(.bytes(Array(try channel.bytes())))
                }
            }
            for part in channels.parts(of: Self.step) {
                try await redis.run(
                    Lua.deadCollect,
                    keys: [
                        "p": keys.push(tag, push), "dl": keys.deadLetter(tag, push), "r": keys.waitingChannels(tag),
                        "h": keys.retryQueues(tag), "z": keys.openRequests(tag),
                    ], ["raw": .bytes(id)], rest: Array(part))
            }
        }
    }
}
