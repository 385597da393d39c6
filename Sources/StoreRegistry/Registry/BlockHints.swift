package import Redis
package import StoreGround

/// How many channels of a name had each mark when a page was read. They save a round trip for marks that no channel has.
public struct BlockHints: Sendable {
    /// Only marks that some channel had.
    package var marked: [SendBlock: Int] = [:]
    /// Counts channels that were released after their `end`. Once it has changed, a page may hold an untracked channel.
    package var cut: ArraySlice<UInt8>?

    package init() {}

    package static func commands(_ keys: Keyspace, _ tag: String) -> [RedisCommand] {
        SendBlock.allCases.map { RedisCommand($0.isScored ? "ZCARD" : "HLEN", $0.key(keys, tag)) }
            + [cutCommand(keys, tag)]
    }

    package static func cutCommand(_ keys: Keyspace, _ tag: String) -> RedisCommand {
        RedisCommand("HGET", keys.name(tag), "cut")
    }

    /// Adds the replies of one of several reads: the most that any of them counted, and the `cut` of the first.
    package mutating func add(_ replies: ArraySlice<Reply>, isFirst: Bool) throws(StoreError) {
        for (mark, reply) in zip(SendBlock.allCases, replies) {
            let count = try reply.integer()
            if count > 0 { marked[mark] = max(count, marked[mark] ?? 0) }
        }
        if isFirst, let last = replies.last { cut = try last.optionalBytes() }
    }
}
