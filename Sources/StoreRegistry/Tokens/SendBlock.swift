package import LiveActivity
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
    /// The card began after an `end` of the name was accepted. Neither that end nor a push from before it is for the
    /// card.
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
    /// The ends that had closed the name when the page was read.
    package var closings = Closings()

    package init() {}

    /// No channel had a mark.
    package var isEmpty: Bool { marked.isEmpty }

    package static func commands(_ keys: Keyspace, _ tag: String) -> [RedisCommand] {
        SendBlock.allCases.map { RedisCommand($0.isScored ? "ZCARD" : "HLEN", $0.key(keys, tag)) }
            + [RedisCommand("HMGET", keys.name(tag), "cut", "ends", "some_ends")]
    }

    package static func cutCommand(_ keys: Keyspace, _ tag: String) -> RedisCommand {
        RedisCommand("HGET", keys.name(tag), "cut")
    }

    /// Adds the replies of one of several reads: the most that any of them counted, the `cut` of the first, and the
    /// ends of the last.
    package mutating func add(_ replies: [Reply], isFirst: Bool) throws(StoreError) {
        for (mark, reply) in zip(SendBlock.allCases, replies) {
            let count = try reply.integer()
            if count > 0 { marked[mark] = max(count, marked[mark] ?? 0) }
        }
        guard let last = replies.last else { return }
        let (cut, ends, someEnds) = try last.values(.optionalBytes("cut"), .any("ends"), .any("some_ends"))
        if isFirst { self.cut = cut }
        closings = try Closings(ends, forSome: someEnds)
    }
}

/// The accepted ends of a name. A push from before an end is not for a card that began after the end.
package struct Closings: Sendable, Hashable {
    private struct End: Hashable {
        var sequence: Int
        var at: Int64
        var push: PushID?
    }
    /// The ends for everyone, oldest first. One that reached nobody is not among them.
    private var ends: [End] = []
    /// The ends for an audience.
    private var forSome: [End] = []

    package init() {}

    /// - Parameters:
    ///   - reply: `ends` of the name's meta, see shared-ended
    ///   - forSome: `some_ends`
    package init(_ reply: Reply, forSome: Reply) throws(StoreError) {
        (ends, self.forSome) = (try Self.ends(reply), try Self.ends(forSome))
    }

    private static func ends(_ reply: Reply) throws(StoreError) -> [End] {
        try reply.optionalString()?.split(separator: " ").compactMap { end in
            let parts = end.split(separator: ":")
            guard parts.count == 3, let sequence = StoredNumber.read(parts[0]), let at = StoredNumber.read(parts[1])
            else { return nil }
            return End(sequence: sequence, at: Int64(at), push: PushID(String(parts[2])))
        } ?? []
    }

    /// The sequence number of the newest end for everyone; 0 if there is none.
    package var newest: Int { ends.last?.sequence ?? 0 }
    /// Whether a push of this sequence number is from before an end.
    package func hasEnd(after sequence: Int) -> Bool {
        sequence < newest || forSome.contains { $0.sequence > sequence }
    }
    /// The ends for an audience that are newer than the push and older than the card (epoch ms).
    package func forSome(after sequence: Int, before card: Int64) -> [PushID] {
        forSome.filter { $0.sequence > sequence && $0.at <= card }.compactMap(\.push)
    }
    /// The sequence number of the newest end for everyone that was accepted before a card began (epoch ms); else 0.
    package func newest(before card: Int64) -> Int { ends.last { $0.at <= card }?.sequence ?? 0 }
}
