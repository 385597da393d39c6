public import LiveActivity
package import Redis
public import StoreGround

/// The registry: which channels follow which name, and with which token. It makes all changes; `Tokens` reads.
///
/// A name's tokens are in buckets: hashes of about 90 entries, small enough for Redis's compact encoding and for
/// reading as a whole. The number of buckets grows with the name (`BucketCount`). Every change is one script on one
/// bucket (`Buckets`).
///
/// A process may die at any point without leaving anything to repair: a call without an answer is repeated. Start
/// tokens have the same layout and live longer. docs/adr/0002-registry-layout.md has reasons and measurements.
public struct Registry: Sendable {
    /// The most registrations of one call of the bulk import: a few megabytes.
    package static let mostAtOnce = 8_000

    package var redis: RedisClient { tokens.redis }
    package var keys: Keyspace { tokens.keys }
    /// Epoch milliseconds.
    package var clock: @Sendable () -> Int64 { tokens.clock }
    /// To ask, once a quota is full, whether a channel follows already.
    package let tokens: Tokens
    package let followings: FollowingIndex
    package var buckets: Buckets { tokens.buckets }
    private(set) var turns = RegistrationTurns()
    package var quotas: Quotas
    /// Told how many followings begin and end by calls of this process. It must not wait.
    package typealias Note = @Sendable (AppKey, _ began: Int, _ ended: Int) -> Void
    private let followingNotes: [Note]

    package init(_ tokens: Tokens, _ followings: FollowingIndex, notes: [Note] = []) {
        (self.tokens, self.followings, followingNotes) = (tokens, followings, notes)
        quotas = Quotas(keys: tokens.keys)
    }

    /// The registry for calls that everybody with the app can make. Their registrations share no call with others,
    /// because a full quota refuses a call as a whole.
    package func forApps() -> Registry {
        var registry = self
        registry.quotas.areForApps = true
        registry.turns = RegistrationTurns()
        return registry
    }

    func note(_ place: PlaceKeys, began: Int = 0, ended: Int = 0) {
        guard began + ended > 0, !place.key.tokens.isForStartTokens else { return }
        for note in followingNotes { note(place.key.app, began, ended) }
    }

    /// Removes channels from a name. Unknown channels are remembered too, to refuse older registrations that come late.
    public func untrack(_ app: AppKey, _ tokens: TokenPlace, _ untracks: [Untrack]) async throws(StoreError) {
        let now = clock()
        let place = keys.place(app, tokens)
        let channels = untracks.map(\.channel.stored)
        let (root, name) = (keys.root(place.tag), keys.name(place.tag))
        let newFollowers = keys.newFollowers(place.tag)
        let answers = try await withRoom(place, channels) { () async throws(StoreError) in
            try await apply(channels, in: place) { index, bucket, count, _ in
                RedisCommand(
                    Lua.registryRemove, keys: ["b": root, "bucket": bucket, "n": name, "y": newFollowers],
                    [
                        "knownCount": count, "channel": .bytes(channels[index]),
                        "stone": .bytes(RegistryRecord.encode(untracks[index], now: now)),
                        "now": .int(RegistryRecord.stamp(now)), "latest": buckets.latest(now),
                        "life": .int(place.lifetime.retention), "threshold": .int(Buckets.threshold),
                    ])
            }
        }
        note(place, ended: answers.count { $0.contains(.changesFollowing) })
    }

    /// Removes dead tokens, each only if its channel still has it. A repeated prune gets the answer `pruned` again.
    public func prune(
        _ app: AppKey, _ tokens: TokenPlace, _ removals: [TokenRemoval]
    ) async throws(StoreError) -> [PruneResult] {
        let now = clock()
        let place = keys.place(app, tokens)
        let (root, name) = (keys.root(place.tag), keys.name(place.tag))
        let newFollowers = keys.newFollowers(place.tag)
        let channels = removals.map(\.channel)
        var results = [PruneResult](repeating: .gone, count: removals.count)
        for start in stride(from: 0, to: channels.count, by: 2 * Buckets.batch) {
            let range = start..<min(start + 2 * Buckets.batch, channels.count)
            // One call for each bucket, because an `end` removes whole buckets.
            try await buckets.each(range, of: channels, in: place) { bucket, indices, count in
                RedisCommand(
                    Lua.registryPrune, keys: ["b": root, "bucket": bucket, "n": name, "y": newFollowers],
                    [
                        "knownCount": .string(count.stored), "now": .int(RegistryRecord.stamp(now)),
                        "latest": buckets.latest(now),
                    ],
                    rest: indices.flatMap { index -> [RedisArgument] in
                        let removal = removals[index]
                        // The time of a registration is compared with that of the record, so it stays as it is.
                        let latest = removal.endsRegistration ? Int64.max : now
                        let since = removal.deadSince.map { RedisArgument.int(RegistryRecord.stamp(min($0, latest))) }
                        return [
                            .bytes(removal.channel), .bytes(removal.token), since ?? "",
                            removal.endsRegistration ? "2" : removal.hasEnded ? "1" : "0",
                        ]
                    })
            } take: { indices, digits throws(StoreError) in
                try StoreError.check(digits.count, of: "registry-prune", is: indices.count)
                for (index, digit) in zip(indices, digits) {
                    results[index] = digit == UInt8(ascii: "1") ? .pruned : digit == UInt8(ascii: "2") ? .newer : .gone
                }
            }
        }
        note(place, ended: results.count { $0 == .pruned })
        return results
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
