package import Redis
import Synchronization

/// Reads keys of which most hold nothing, again and again. One EXISTS asks for all that held nothing at the last read;
/// only the others are read each time. So the cost follows what is stored, and not how many apps there are.
///
/// Its memory decides which command asks, and never what the answer is. A key that another process has filled
/// since is found by this read.
package final class SparseKeys: Sendable {
    private let filled = Mutex<Set<RedisKey>>([])

    package init() {}

    /// Reads the keys in one round trip, and in a second one the keys that held nothing before.
    /// - Parameter command: reads a key. An empty array means that it holds nothing.
    /// - Returns: the replies for keys that hold something, and the keys that could not be read: their node is away.
    package func read(
        _ keys: [RedisKey], _ redis: RedisClient, _ command: (RedisKey) -> RedisCommand
    ) async throws(StoreError) -> (found: [RedisKey: Reply], away: Set<RedisKey>) {
        let known = filled.withLock(\.self)
        let full = keys.filter(known.contains)
        let groups = redis.together(keys.filter { !known.contains($0) })
        let replies = try await redis.apart(full.map(command) + groups.map { .exists($0) })
        var result = Result()
        result.take(full, replies.prefix(full.count))
        var again: [RedisKey] = []
        for (group, reply) in zip(groups, replies.dropFirst(full.count)) {
            guard let count = try reply?.integer() else {
                result.away.formUnion(group)
                continue
            }
            if count > 0 { again += group }
        }
        if !again.isEmpty { result.take(again, try await redis.apart(again.map(command))[...]) }
        filled.withLock { filled in
            filled.subtract(result.empty)
            filled.formUnion(result.found.keys)
        }
        return (result.found, result.away)
    }

    private struct Result {
        var found: [RedisKey: Reply] = [:]
        var empty: Set<RedisKey> = []
        var away: Set<RedisKey> = []

        mutating func take(_ keys: [RedisKey], _ replies: ArraySlice<Reply?>) {
            for (key, reply) in zip(keys, replies) {
                guard let reply else {
                    away.insert(key)
                    continue
                }
                if reply.count == 0 { empty.insert(key) } else { found[key] = reply }
            }
        }
    }
}

extension RedisCommand {
    /// How many of the keys hold something.
    package static func exists(_ keys: some Sequence<RedisKey>) -> RedisCommand {
        RedisCommand("EXISTS", keys.map { RedisArgument.key($0) })
    }
}

extension RedisClient {
    /// The keys to read, each in a command of its own. In a cluster that is all of them: each is in a slot of its own,
    /// so to ask whether it holds anything costs as much as to read it.
    package func worthReading(_ keys: [RedisKey]) async throws(StoreError) -> Set<RedisKey> {
        isCluster ? Set(keys) : try await holding(keys)
    }

    /// Which of the keys hold something. While none does, or all do, one command says so for all keys of a server or of
    /// a slot. Otherwise halves are asked, and their halves.
    /// - Parameter keys: each once
    package func holding(_ keys: [RedisKey]) async throws(StoreError) -> Set<RedisKey> {
        var found: Set<RedisKey> = []
        var groups = together(keys).map { $0[...] }
        while !groups.isEmpty {
            var halves: [ArraySlice<RedisKey>] = []
            for (group, reply) in zip(groups, try await apart(groups.map { .exists($0) })) {
                // A call that uses a key of a node that is away gets its error.
                let count = try reply?.integer() ?? group.count
                if count == group.count {
                    found.formUnion(group)
                } else if 3 * count >= group.count {
                    // With many of them, halves would need more commands than the keys.
                    halves += group.indices.map { group[$0...$0] }
                } else if count > 0 {
                    halves += [group.prefix(group.count / 2), group.dropFirst(group.count / 2)]
                }
            }
            groups = halves
        }
        return found
    }
}
