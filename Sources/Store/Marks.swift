public import LiveActivity
import Redis

/// What stands in the way of sending to channels of a page at once. All reasons are asked for together and in one place:
/// a reason is a key of the name's slot, usually absent, with the channels as its fields or members.
public struct Marks: Sendable {
    public enum Mark: Sendable, Hashable, CaseIterable {
        /// Waits for an older push: this one joins its line.
        case waiting
        /// Registered while the sweep ran: the catch-up behind its shards has it.
        case catchingUp
        /// Its very token is quarantined: nothing is sent to it.
        case quarantined
        /// Its very token lives in the app's other APNs environment.
        case elsewhere
        /// Began to follow after an `end` of the name was accepted: an older end is not for it.
        case newFollower
    }

    private var marks: [Int: Set<Mark>] = [:]
    /// Since when (epoch ms) an entry with the mark of a new follower is one.
    private var began: [Int: Int64] = [:]
    /// Marks of tokens that the channels do not have any more: to be forgotten.
    public fileprivate(set) var outdated: [(channel: [UInt8], mark: QuarantineMark)] = []

    public init() {}

    /// The marks of a page's entry.
    public subscript(index: Int) -> Set<Mark> { marks[index] ?? [] }
    public var isEmpty: Bool { marks.isEmpty && began.isEmpty }

    /// Whether the entry's channel began to follow only after an end that was accepted at `time` (epoch ms).
    public func began(_ index: Int, after time: Int64) -> Bool { began[index].map { $0 >= time } ?? false }

    mutating func insert(_ mark: Mark, _ index: Int) { marks[index, default: []].insert(mark) }

    /// Notes what one of the channels has under a mark's key. A mark about a token holds only for that one.
    fileprivate mutating func take(
        _ mark: Mark, _ index: Int, _ channel: ArraySlice<UInt8>, _ token: ArraySlice<UInt8>, _ value: RedisReply
    ) throws(RedisError) {
        switch mark {
        case .waiting, .catchingUp: insert(mark, index)
        case .quarantined:
            guard let found = QuarantineMark(storedValue: try value.bytes()) else { return }
            if found.token[...] == token { insert(mark, index) } else { outdated.append((Array(channel), found)) }
        case .newFollower: began[index] = try value.optionalTime()
        case .elsewhere:
            if try value.bytes() == OtherEnvironment.hash(token)[...] { insert(mark, index) }
        }
    }
}

extension Marks.Mark {
    func key(_ keys: Keyspace, _ tag: String) -> RedisArgument {
        switch self {
        case .waiting: .string(keys.waiting(tag))
        case .catchingUp: .string(keys.catchUp(tag))
        case .quarantined: .string(keys.quarantine(tag))
        case .elsewhere: .string(keys.otherEnvironment(tag))
        case .newFollower: .string(keys.newFollowers(tag))
        }
    }

    /// Asks for all channels at once; nil stands for one without the mark.
    func command(_ keys: Keyspace, _ tag: String, _ channels: PackedArguments) -> RedisCommand {
        switch self {
        case .waiting, .quarantined, .elsewhere: RedisCommand("HMGET", [key(keys, tag)], channels)
        case .catchingUp, .newFollower: RedisCommand("ZMSCORE", [key(keys, tag)], channels)
        }
    }
}

/// Which marks there were under a name when a page was read.
public struct MarkSigns: Sendable {
    var present: Set<Marks.Mark> = []
    /// Counts channels that were set free after their `end`: changed, the page may hold one that is untracked by now.
    var cut: ArraySlice<UInt8>?

    static func commands(_ keys: Keyspace, _ tag: String) -> [RedisCommand] {
        Marks.Mark.allCases.map { RedisCommand("EXISTS", [$0.key(keys, tag)]) } + [cutCommand(keys, tag)]
    }

    static func cutCommand(_ keys: Keyspace, _ tag: String) -> RedisCommand {
        RedisCommand("HGET", [.string(keys.name(tag)), "cut"])
    }

    /// Of several reads: what any of them found, and the first one's count.
    mutating func add(_ replies: ArraySlice<RedisReply>, isFirst: Bool) throws(StoreError) {
        try redisErrors { () throws(RedisError) in
            for (mark, reply) in zip(Marks.Mark.allCases, replies) where try reply.integer() == 1 {
                present.insert(mark)
            }
            if isFirst, let last = replies.last { cut = try last.optionalBytes() }
        }
    }
}

extension Registry {
    /// The marks of a page's channels that matter to such a push: one round trip, none if there were no signs of any. Nil when a channel of it may
    /// have been set free after its `end` since the page was read: read it again.
    public func marks(
        _ app: AppKey, _ name: ActivityName, _ page: TokenPage, _ signs: MarkSigns, for event: ActivityEvent
    ) async throws(StoreError) -> Marks? {
        var marks = Marks()
        let asked = Marks.Mark.allCases.filter {
            signs.present.contains($0) && ($0 != .newFollower || event == .end)
        }
        if asked.isEmpty || page.isEmpty { return marks }
        let tag = keys.tag(app, name)
        let channels = page.packedChannels
        let commands = asked.map { $0.command(keys, tag, channels) } + [MarkSigns.cutCommand(keys, tag)]
        let replies: [RedisReply]
        do throws(RedisError) { replies = try await redis.transaction(commands) } catch { throw .redis(error) }
        return try redisErrors { () throws(RedisError) in
            for reply in replies { if let error = reply.error { throw error } }
            guard replies.count == commands.count, try replies[asked.count].optionalBytes() == signs.cut else {
                return nil
            }
            for (mark, reply) in zip(asked, replies) {
                guard reply.count == page.count else { throw .unexpectedReply("marks of another length") }
                for index in 0..<page.count where !reply[index].isNil {
                    try marks.take(mark, index, page.channel(index), page.token(index), reply[index])
                }
            }
            return marks
        }
    }
}

extension RedisReply {
    fileprivate func optionalBytes() throws(RedisError) -> ArraySlice<UInt8>? { isNil ? nil : try bytes() }
}
