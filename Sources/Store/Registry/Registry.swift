public import LiveActivity
import Redis

/// The registry: which channels follow which name, and with which token.
///
/// A name's tokens are in buckets: hashes of about 90 entries, small enough for Redis's compact encoding and for
/// reading as a whole. The number of buckets grows with the name (`BucketCount`). Every change is one script on one
/// bucket. The root, bucket 0, holds the count and is a key of each script, which refuses an outdated count.
///
/// A process may die at any point without leaving anything to repair: a call without an answer is repeated. Start
/// tokens have the same layout and live longer. docs/adr/0002-registry-layout.md has reasons and measurements.
public struct Registry: Sendable {
    let redis: RedisClient
    let keys: Keyspace
    let memory = RegistryMemory()
    var quotas: Quotas
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64

    init(redis: RedisClient, keys: Keyspace, clock: @escaping @Sendable () -> Int64 = wallClock) {
        self.redis = redis
        self.keys = keys
        self.clock = clock
        quotas = Quotas(keys: keys)
    }

    /// Records that this process has skipped since its start. If it is not 0, another program writes to this Redis.
    public var malformedRecords: Int { memory.malformed }

    /// Stores registrations in order, pipelined in batches. After an error some may be stored, and repeating is
    /// harmless. Writes the index of channels, then the records, then lists the name in the app's index, then wakes a
    /// worker for late joiners.
    /// - Parameter endAfter: the age at which cards are to be ended automatically.
    /// - Returns: one result for each registration, in order.
    public func track(
        _ app: AppKey, _ tokens: TokenPlace, _ registrations: [Registration], endAfter: Duration? = nil
    ) async throws(StoreError) -> [RegistrationResult] {
        let place = placeKeys(app, tokens)
        let now = clock()
        // A registration that is past its life has no record and stays stale.
        var records: [(position: Int, value: RegistryRecord.Encoded, flags: Int)] = []
        records.reserveCapacity(registrations.count)
        for (position, registration) in registrations.enumerated() {
            let atArrival = RegistryRecord.withTimeOfArrival(registration, now: now, place.span)
            guard let record = RegistryRecord.encode(atArrival ?? registration, now: now, place.span) else { continue }
            records.append((position, record, (registration.wantsState ? 1 : 0) + (atArrival == nil ? 0 : 2)))
        }
        let changes = records.map { BucketChange(channel: registrations[$0.position].channel.stored) }
        var results = [RegistrationResult](repeating: .stale, count: registrations.count)
        let tag = place.tag
        let root = keys.root(tag)
        let notes = try await noteFollowings(
            place, zip(changes, records).map { ($0.channel, $1.value.retention) }, now: now)
        let answers = try await apply(changes, in: place, first: notes) { index, bucket, count, rest in
            let (_, record, flags) = records[index]
            return RedisCommand(
                Lua.registrySet,
                keys: [
                    "b": root, "bucket": bucket, "n": keys.name(tag), "h": keys.retryQueues(tag),
                    "k": keys.catchUp(tag), "y": keys.newFollowers(tag), "v": keys.contentStates(tag),
                    "f": keys.lateJoiners(tag), "a": keys.startedChannels(tag), "r": keys.waitingChannels(tag),
                ],
                [
                    "knownCount": count, "channel": .bytes(changes[index].channel), "record": .bytes(record.value),
                    "registeredAt": .int(record.registeredAt), "life": .int(record.retention),
                    "threshold": .int(BucketChange.threshold), "flags": .int(flags),
                ], rest: rest)
        }
        let stored = zip(records, answers).filter { !$0.1.isEmpty }.map(\.0)
        for record in stored { results[record.position] = .stored }
        if let firstStart = stored.map(\.value.startedAt).min() {
            try await enlist(place, now: now, endDue: endAfter.map { firstStart + $0.milliseconds })
        }
        // If the process dies before it wakes a worker, the caller repeats the call, and the script asks for it again.
        if case .activity(let name) = tokens, answers.contains(where: { $0.contains(.wakesLateJoiners) }) {
            try await redis.run([WorkQueue.add(keys, .late(app, name))])
        }
        return results
    }

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
        return try await prune(changes, in: placeKeys(app, tokens)).map { $0 == 1 ? .pruned : $0 == 2 ? .newer : .gone }
    }
}
