public import LiveActivity
package import Redis
public import StoreGround

/// States for late joiners: `push-begin` keeps them, retry queues deliver them (docs/adr/0005-waiting-tokens.md).
public struct LateJoiners: Sendable {
    /// How long a state is kept, because an activity lives no longer.
    public static let life = ScriptNumbers.lateLife
    /// At most this many unswept pushes are read, the newest.
    private static let mostUnswept = 64

    package let redis: RedisClient
    package let keys: Keyspace
    package let endings: PushEndings

    package init(redis: RedisClient, keys: Keyspace, endings: PushEndings) {
        self.redis = redis
        self.keys = keys
        self.endings = endings
    }

    public func states(_ app: AppKey, _ name: ActivityName) async throws(StoreError) -> CurrentStates {
        let tag = keys.tag(app, name)
        let (meta, stored, unswept, now, lonePush) = try await redis.atOnce([
            RedisCommand("HMGET", keys.name(tag), "begun", "active", "newest", "before"),
            RedisCommand("HVALS", keys.contentStates(tag)),
            RedisCommand("ZREVRANGE", keys.unswept(tag), "0", .int(Self.mostUnswept - 1)),
            RedisCommand("TIME", near: keys.name(tag)), keys.lonePush(tag),
        ]).values(.any("name"), .strings("states"), .strings("unswept pushes"), .redisTime("time"), .any("lone push"))
        let lone = try LonePush(lonePush)
        let (begun, active, newest, before) = try meta.values(
            .optionalString("begun"), .push("active"), .optionalString("newest"), .optionalString("before"))
        let plain = Self.plain([newest, before], now: now)
        // `<sequence> <event> <push>`
        let states = stored.compactMap { $0.split(separator: " ").last }
        let kept = states.compactMap { PushID(String($0)) } + plain
        let waiting = lone.map { $0.isSent ? [] : [$0.id] } ?? []
        let notBegun = unswept.compactMap { PushID($0) }.filter { $0 != active } + waiting
        let records = try await SweepStore(redis: redis, keys: keys, endings: endings).records(
            app, name, Set(kept + notBegun))
        func newestFirst(_ ids: [PushID]) -> [PushRecord] {
            ids.compactMap { records[$0] }.sorted { $0.sequence > $1.sequence }
        }
        let sweeping = active ?? lone.flatMap { $0.isSent ? $0.id : nil }
        // A push that was cancelled in its sweep stands if a page in flight is still delivered.
        let standing = newestFirst(kept).filter { $0.stands || $0.id == sweeping }
        return CurrentStates(
            begun: begun ?? "", notBegun: newestFirst(notBegun), kept: standing, active: sweeping)
    }

    /// The pushes of a name's fields `newest` and `before`, see `shared-newest.lua`, except states that are too old.
    private static func plain(_ fields: [String?], now: Int64) -> [PushID] {
        var ids: [PushID] = []
        for field in fields {
            for words in (field ?? "").split(separator: " ").parts(of: 4) where words.count == 4 {
                let (id, began) = (words[words.startIndex + 2], words[words.startIndex + 3])
                guard let began = StoredNumber.read(began), Int64(began) + life.milliseconds > now else { continue }
                if let id = PushID(String(id)) { ids.append(id) }
            }
        }
        return ids
    }

    /// Gives the name's late joiners to `body`, a part at a time. `body` decides about them.
    public func each(
        _ app: AppKey, _ name: ActivityName, _ body: ([LateJoiner]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        let key = keys.lateJoiners(keys.tag(app, name))
        try await redis.eachPart(
            ofHash: key, count: 500, read: { LateJoiner(channel: Array($0), value: Array($1)) }, body)
    }

    /// Carries out decisions about late joiners.
    /// - Returns: how many late joiners are left, and how many were queued. If any were, the caller must wake a worker
    ///   for the name's retries. Nil if a push began since `states` were read. Late joiners are left then.
    public func settle(
        _ app: AppKey, _ name: ActivityName, _ states: CurrentStates, _ decisions: [(LateJoiner, LateDecision)]
    ) async throws(StoreError) -> (left: Int, put: Int)? {
        let tag = keys.tag(app, name)
        let locations: KeyValuePairs = [
            "n": keys.name(tag), "f": keys.lateJoiners(tag), "h": keys.retryQueues(tag), "r": keys.waitingChannels(tag),
        ]
        let arguments: KeyValuePairs<String, RedisArgument> = [
            "begun": .string(states.begun), "retention": .int(keys.retention), "ps": .string(keys.pushPrefix(tag)),
            "ws": .string(keys.tasksPrefix(tag)), "dls": .string(keys.deadLetterPrefix(tag)),
        ]
        let replies = try await redis.run(
            decisions.scriptParts.map { part in
                let fives = part.flatMap { joiner, decision -> [RedisArgument] in
                    let push: [RedisArgument] =
                        switch decision {
                        case .put(let id, let older):
                            [.bytes(id.uuid.bytes), older.map { .bytes($0.uuid.bytes) } ?? ""]
                        case .drop: ["", ""]
                        }
                    return [.bytes(joiner.channel), .bytes(joiner.value)] + push + [.int(joiner.platform.code)]
                }
                return RedisCommand(Lua.latePut, keys: locations, arguments, rest: fives)
            })
        var settled = (left: 0, put: 0)
        for reply in replies {
            var values = try ReplyValues(reply)
            switch try values.next(.string("state")) {
            case "again": return nil
            case "ok":
                let (left, put, final) = try values.all(.integer("left"), .integer("put"), .string("final pushes"))
                settled = (left, settled.put + put)
                endings.note(app, name, ids: final)
            case let word: throw .unexpectedReply("late-put answered \(word)")
            }
        }
        return settled
    }

    /// Notes started channels, before their page of a `start` is sent: a device may register before the page is
    /// answered. A channel that registers a token within `life` gets the pushes since the start. Repeatable.
    /// - Returns: the notes of earlier starts that it replaced.
    @discardableResult
    public func expect(
        _ app: AppKey, _ name: ActivityName, _ channels: [[UInt8]], startedBy sequence: Int, now: Int64
    ) async throws(StoreError) -> [[UInt8]?] {
        if channels.isEmpty { return [] }
        let key = keys.startedChannels(keys.tag(app, name))
        let value = RedisArgument.string("\(sequence) \(now)")
        let (notes, _, _) = try await redis.run([
            RedisCommand("HMGET", key, channels.map { .bytes($0) }),
            RedisCommand("HSET", key, channels.flatMap { [.bytes($0), value] }),
            RedisCommand("PEXPIRE", key, .int(Self.life.milliseconds)),
        ]).values(.array("notes"), .any("HSET"), .any("PEXPIRE"))
        return try notes.map { note throws(StoreError) in try note.optionalBytes().map { Array($0) } }
    }

    /// Undoes `expect` for channels that got no card by that start. The notes of earlier starts are restored.
    public func expectNothing(
        _ app: AppKey, _ name: ActivityName, _ channels: [(channel: [UInt8], before: [UInt8]?)]
    ) async throws(StoreError) {
        let key = keys.startedChannels(keys.tag(app, name))
        let gone = channels.filter { $0.before == nil }.map { RedisArgument.bytes($0.channel) }
        let back = channels.flatMap { channel, before in
            before.map { [RedisArgument.bytes(channel), .bytes($0)] } ?? []
        }
        let commands =
            (gone.isEmpty ? [] : [RedisCommand("HDEL", key, gone)])
            + (back.isEmpty ? [] : [RedisCommand("HSET", key, back)])
        if !commands.isEmpty { try await redis.run(commands) }
    }
}

/// The facts by which a name's late joiners are judged, read at one moment.
public struct CurrentStates: Sendable {
    /// Sequence number of the last push that began, as text.
    let begun: String
    /// Pushes that have not begun, the newest first. Their sweeps find all channels that follow by then.
    public var notBegun: [PushRecord] = []
    /// The begun pushes that stand or may, the newest first. A channel's state is the first one whose audience has it.
    public var kept: [PushRecord] = []
    /// The push whose sweep runs. It may still be stopped, and its catch-up finds the channels.
    public var active: PushID?

    /// The pushes for which a channel may still be found, the newest first, and behind them those whose sweep is over.
    public var all: [(record: PushRecord, isSwept: Bool)] {
        notBegun.map { ($0, false) } + kept.map { ($0, $0.id != active) }
    }
    /// Whether nothing can be decided yet: a push for everyone is not swept, and no end waits for started cards.
    public var allWait: Bool {
        !kept.contains { $0.event == .end }
            && all.contains { !$0.isSwept && $0.record.isState && $0.record.audience == .all }
    }
}

public enum LateDecision: Sendable, Hashable {
    /// Queue this push for the channel, and before it the older one, which goes out if this one is stopped before
    /// anybody has it.
    case put(PushID, before: PushID? = nil)
    /// The channel gets nothing.
    case drop
}

/// A late joiner: a channel that began to follow and gets the state that it missed.
public struct LateJoiner: Sendable, Hashable {
    public let channel: [UInt8]
    /// The sweeps of pushes up to this sequence number missed the channel. Later sweeps find it.
    public let upTo: Int
    /// Sequence number of the start that created the card; pushes up to it are not for it. 0: it asked for the state.
    public let after: Int
    /// The number of the note. A note of an earlier version has none.
    public let number: Int?
    /// The last push of the channel's retry queue when its card began. The queue brings it to the card.
    public let waitsFor: PushID?
    /// The bytes in Redis. A decision counts only while they are the same.
    package let value: [UInt8]
    /// The platform of its token. The note does not tell it, so the reader of the token does.
    public var platform = Platform.ios
    public var wasStarted: Bool { after > 0 }

    /// Whether the push's own sweep or catch-up had the channel.
    public func isSwept(by push: PushRecord) -> Bool {
        push.sequence > upTo || number.flatMap { number in push.sweptNotes.map { number <= $0 } } ?? false
    }

    /// Reads a note of `registry-set`. One of an earlier version has the two numbers alone, and earlier versions skip
    /// the words behind these, because none is a number.
    init?(channel: [UInt8], value: [UInt8]) {
        let words = String(decoding: value, as: UTF8.self).split(separator: " ")
        guard words.count >= 2, let upTo = StoredNumber.read(words[0]),
            let after = StoredNumber.read(words[1])
        else { return nil }
        self.channel = channel
        (self.upTo, self.after) = (upTo, after)
        number = words.dropFirst(2).first.flatMap { StoredNumber.read($0.dropFirst()) }
        waitsFor = words.dropFirst(3).first.flatMap { PushID(String($0)) }
        self.value = value
    }
}
