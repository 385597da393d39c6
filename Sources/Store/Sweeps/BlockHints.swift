import Redis

/// Which marks some channel of a name had when a page was read. They save a round trip for marks that no channel has.
public struct BlockHints: Sendable {
    var present: Set<SendBlocks.Mark> = []
    /// Counts channels that were released after their `end`. Once it has changed, a page may hold an untracked channel.
    var cut: ArraySlice<UInt8>?

    static func commands(_ keys: Keyspace, _ tag: String) -> [RedisCommand] {
        SendBlocks.Mark.allCases.map { RedisCommand("EXISTS", $0.key(keys, tag)) } + [cutCommand(keys, tag)]
    }

    static func cutCommand(_ keys: Keyspace, _ tag: String) -> RedisCommand {
        RedisCommand("HGET", keys.name(tag), "cut")
    }

    /// Adds the replies of one of several reads: marks that any of them found, and the count of the first.
    mutating func add(_ replies: ArraySlice<Reply>, isFirst: Bool) throws(StoreError) {
        for (mark, reply) in zip(SendBlocks.Mark.allCases, replies) where try reply.isOne() { present.insert(mark) }
        if isFirst, let last = replies.last { cut = try last.optionalBytes() }
    }
}
