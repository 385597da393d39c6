package import Redis
package import StoreGround

/// A reason not to send to a channel now. Each is a key on the name's slot, usually absent.
public enum SendBlock: Sendable, Hashable, CaseIterable {
    /// The channel waits for an older push, so this push joins its retry queue.
    case waiting
    /// The channel registered during the sweep, so the catch-up covers it.
    case catchingUp
    /// The token of this entry is quarantined, so nothing is sent to it.
    case quarantined
    /// The token of this entry is of the app's other APNs environment.
    case elsewhere
    /// The card began after an `end` of the name was accepted, so an older end is not for it.
    case newFollower
}

extension SendBlock {
    package func key(_ keys: Keyspace, _ tag: String) -> RedisKey {
        switch self {
        case .waiting: keys.retryQueues(tag)
        case .catchingUp: keys.catchUp(tag)
        case .quarantined: keys.quarantine(tag)
        case .elsewhere: keys.otherEnvironment(tag)
        case .newFollower: keys.newFollowers(tag)
        }
    }

    /// Channels with the mark are members of a sorted set, otherwise fields of a hash.
    package var isScored: Bool {
        switch self {
        case .waiting, .quarantined, .elsewhere: false
        case .catchingUp, .newFollower: true
        }
    }
}

/// How many channels of a name had each mark when a page was read. The counts save a round trip for marks that no
/// channel has.
public struct BlockCounts: Sendable {
    /// Only marks that some channel had.
    package var marked: [SendBlock: Int] = [:]
    /// Counts channels that were released after their `end`. Once it has changed, a page may hold an untracked channel.
    package var cut: ArraySlice<UInt8>?

    package init() {}

    /// No channel had a mark.
    package var isEmpty: Bool { marked.isEmpty }

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
