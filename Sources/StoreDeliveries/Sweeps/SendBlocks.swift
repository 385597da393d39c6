public import LiveActivity
import Redis
public import StoreGround
public import StoreRegistry

/// Reasons not to send to channels of a page, read together.
public struct SendBlocks: Sendable {
    private var marks: [Int: Set<SendBlock>] = [:]
    /// When the card of an entry began (epoch ms), for new followers.
    private var began: [Int: Int64] = [:]
    fileprivate var closings = Closings()
    /// Quarantine marks of tokens that the channels do not have any more. The caller removes them.
    public fileprivate(set) var outdated: [Quarantine.MarkedChannel] = []

    public init() {}

    /// The marks of a page's entry.
    public subscript(index: Int) -> Set<SendBlock> { marks[index] ?? [] }
    public var isEmpty: Bool { marks.isEmpty && began.isEmpty }
    /// Whether the push is from before the entry's card: it is an `end`, or an `end` for everyone is between the two.
    public func isBefore(_ index: Int, _ push: PushRecord) -> Bool {
        began[index].map { push.isBefore(card: $0, closings.newest(before: $0)) } ?? false
    }
    /// By index, the ends for an audience between the push and the entry's card. The push is not for the card if such
    /// an end is for the channel.
    public func endsForSome(after push: PushRecord) -> [Int: [PushID]] {
        began.mapValues { closings.forSome(after: push.sequence, before: $0) }.filter { !$0.value.isEmpty }
    }
    package mutating func insert(_ mark: SendBlock, _ index: Int) { marks[index, default: []].insert(mark) }

    /// Notes what one channel has under a mark's key. A mark about a token holds only for that token.
    fileprivate mutating func take(
        _ mark: SendBlock, _ index: Int, _ channel: ArraySlice<UInt8>, _ token: ArraySlice<UInt8>, _ value: Reply
    ) throws(StoreError) {
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

extension SendBlock {
    /// Asks for all channels of a page. A nil in the reply means that the channel has no such mark.
    fileprivate func command(_ keys: Keyspace, _ tag: String, _ channels: PackedArguments) -> RedisCommand {
        RedisCommand(isScored ? "ZMSCORE" : "HMGET", key(keys, tag), channels)
    }

    /// Asks for all channels that have the mark.
    fileprivate func commandForAll(_ keys: Keyspace, _ tag: String) -> RedisCommand {
        switch self {
        // The value is the retry queue, which is long and does not matter here.
        case .waiting: RedisCommand("HKEYS", key(keys, tag))
        case .quarantined, .elsewhere: RedisCommand("HGETALL", key(keys, tag))
        case .catchingUp, .newFollower: RedisCommand("ZRANGE", key(keys, tag), "0", "-1", "WITHSCORES")
        }
    }

    /// Reads the reply to `commandForAll`.
    fileprivate func all(_ reply: Reply) throws(StoreError) -> [ChannelBytes: Reply] {
        let pairs = self == .waiting ? try reply.array().map { ($0, $0) } : try reply.pairs()
        var found: [ChannelBytes: Reply] = [:]
        for (channel, value) in pairs { found[ChannelBytes(bytes: try channel.bytes())] = value }
        return found
    }
}

/// A channel in its stored form. Each token of a page is looked up, and an array would hash byte after byte.
private struct ChannelBytes: Hashable {
    var bytes: ArraySlice<UInt8>

    func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

extension Tokens {
    /// Reads the marks of a page's channels that matter to a push of this event, in at most one round trip.
    /// - Parameter sequence: of the push. For an update that is newer than all ends, new channels do not matter.
    /// - Returns: nil if a channel was released after its `end` since the page was read. Read the page again then.
    public func marks(
        _ app: AppKey, _ tokens: TokenPlace, _ page: TokenPage, _ counts: BlockCounts, for event: ActivityEvent,
        sequence: Int = .max
    ) async throws(StoreError) -> SendBlocks? {
        var blocks = SendBlocks()
        blocks.closings = counts.closings
        let looksForNew = event == .end || counts.closings.hasEnd(after: sequence)
        // Redis walks through a small hash for each field that it looks up, so it is read as a whole.
        let asked = SendBlock.allCases.filter { $0 != .newFollower || looksForNew }
            .compactMap { mark in counts.marked[mark].map { (mark: mark, isReadWhole: $0 <= page.count) } }
        if asked.isEmpty || page.isEmpty { return blocks }
        let tag = keys.tag(app, tokens)
        let commands = asked.map { mark, isReadWhole in
            isReadWhole ? mark.commandForAll(keys, tag) : mark.command(keys, tag, page.packedChannels)
        }
        let replies = try await redis.atOnce(commands + [BlockCounts.cutCommand(keys, tag)])
        guard try replies[asked.count].optionalBytes() == counts.cut else { return nil }
        for ((mark, isReadWhole), reply) in zip(asked, replies) {
            let found = isReadWhole ? try mark.all(reply) : [:]
            if !isReadWhole { try StoreError.check(reply.count, of: "the read of \(mark)", is: page.count) }
            for index in 0..<page.count {
                let value = isReadWhole ? found[ChannelBytes(bytes: page.channel(index))] : reply[index]
                guard let value, !value.isNil else { continue }
                try blocks.take(mark, index, page.channel(index), page.token(index), value)
            }
        }
        return blocks
    }
}
