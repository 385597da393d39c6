public import LiveActivity
package import Redis
public import StoreGround

/// The registry: which channels follow which name, and with which token.
///
/// A name's tokens are in buckets: hashes of about 90 entries, small enough for Redis's compact encoding and for
/// reading as a whole. The number of buckets grows with the name (`BucketCount`). Every change is one script on one
/// bucket. The root, bucket 0, holds the count and is a key of each script, which refuses an outdated count.
///
/// A process may die at any point without leaving anything to repair: a call without an answer is repeated. Start
/// tokens have the same layout and live longer. docs/adr/0002-registry-layout.md has reasons and measurements.
public struct Registry: Sendable {
    package let redis: RedisClient
    package let keys: Keyspace
    package let memory = RegistryMemory()
    private(set) var turns = RegistrationTurns()
    package var quotas: Quotas
    /// Epoch milliseconds.
    package let clock: @Sendable () -> Int64

    package init(redis: RedisClient, keys: Keyspace, clock: @escaping @Sendable () -> Int64 = wallClock) {
        self.redis = redis
        self.keys = keys
        self.clock = clock
        quotas = Quotas(keys: keys)
    }

    /// The same for calls that everybody with the app can make. Their registrations share no call with those of others,
    /// because a full quota refuses a call as a whole.
    package func forApps() -> Registry {
        var registry = self
        registry.quotas.areForApps = true
        registry.turns = RegistrationTurns()
        return registry
    }

    /// Records that this process has skipped since its start. If it is not 0, another program writes to this Redis.
    public var malformedRecords: Int { memory.malformed }

    /// Removes channels from a name. Unknown channels are remembered too, to refuse older registrations that come late.
    public func untrack(_ app: AppKey, _ tokens: TokenPlace, _ untracks: [Untrack]) async throws(StoreError) {
        let now = clock()
        let place = placeKeys(app, tokens)
        let changes = untracks.map { BucketChange(channel: $0.channel.stored) }
        let (root, newFollowers) = (keys.root(place.tag), keys.newFollowers(place.tag))
        _ = try await apply(changes, in: place) { index, bucket, count, _ in
            RedisCommand(
                Lua.registryRemove, keys: ["b": root, "bucket": bucket, "y": newFollowers],
                [
                    "knownCount": count, "channel": .bytes(changes[index].channel),
                    "stone": .bytes(RegistryRecord.encode(untracks[index], now: now)),
                    "latest": RegistryRecord.latest(now),
                    "life": .int(place.span.retention), "threshold": .int(BucketChange.threshold),
                ])
        }
    }

    /// Removes dead tokens, each only if its channel still has it. A repeated prune gets the answer `pruned` again.
    public func prune(
        _ app: AppKey, _ tokens: TokenPlace, _ removals: [TokenRemoval]
    ) async throws(StoreError) -> [PruneResult] {
        let now = clock()
        let changes = removals.map { removal in
            let since: RedisArgument = removal.deadSince.map { .int(RegistryRecord.stamp(min($0, now))) } ?? ""
            return BucketChange(
                channel: removal.channel, arguments: [.bytes(removal.token), since, removal.hasEnded ? "1" : "0"])
        }
        return try await prune(changes, in: placeKeys(app, tokens), now: now).map {
            $0 == 1 ? .pruned : $0 == 2 ? .newer : .gone
        }
    }
}

public enum PruneResult: Sendable, Hashable {
    /// Removed now, or by an earlier run of the same prune.
    case pruned
    /// The channel has another token, or registered this one after the 410's timestamp.
    case newer
    /// The channel no longer follows the name.
    case gone
}
