package import LiveActivity
package import Redis
package import StoreGround

extension Registry {
    /// Most tries with a changed count. A larger count does not use one up, because other writers may be faster.
    package static let countAttempts = 32

    package func placeKeys(_ app: AppKey, _ tokens: TokenPlace) -> PlaceKeys {
        PlaceKeys(key: RegistryMemory.Key(app: app, tokens: tokens), tag: keys.tag(app, tokens))
    }

    /// Runs `body` for one batch of the changes after the other. Before the next one it divides too full buckets.
    /// - Parameters:
    ///   - asksForRoom: whether the quotas may refuse the changes.
    ///   - body: returns the changes whose buckets are too full.
    func eachBatch(
        of changes: [BucketChange], in place: PlaceKeys, asksForRoom: Bool = true,
        _ body: (Range<Int>) async throws(StoreError) -> [Int]
    ) async throws(StoreError) {
        if asksForRoom { try await requireRoom(place, changes) }
        var start = 0
        while start < changes.count {
            // A small name's first batches are small, so that no bucket holds much more than twice the threshold.
            let room = max(BucketChange.threshold, 64 * memory.count(place.key).buckets)
            let end = min(start + min(BucketChange.batch, room), changes.count)
            let overfull = try await body(start..<end)
            if !overfull.isEmpty { try await divide(place, for: overfull.map { changes[$0].channel }) }
            start = end
        }
    }

    /// Runs a script for each change and returns its answers, in order. Changes with an outdated count are refused and
    /// run again.
    /// - Parameter command: makes the call for the change of that index.
    /// - Parameter first: commands that Redis must have executed before the change of that index.
    func apply(
        _ changes: [BucketChange], in place: PlaceKeys, first: [RedisCommand] = [], asksForRoom: Bool = true,
        _ command: (_ index: Int, _ bucket: RedisKey, _ count: RedisArgument, _ rest: [RedisArgument]) -> RedisCommand
    ) async throws(StoreError) -> [BucketAnswer] {
        var answers = [BucketAnswer](repeating: [], count: changes.count)
        // Arguments for the `end` that the script asked for, by change.
        var endings: [Int: [RedisArgument]] = [:]
        try await eachBatch(of: changes, in: place, asksForRoom: asksForRoom) { batch throws(StoreError) in
            var overfull: [Int] = []
            try await withCurrentCount(batch, of: changes, in: place) { open, count throws(StoreError) in
                let earlier = first.isEmpty ? [] : open.map { first[$0.index] }
                let commands = open.map { index, bucket in
                    command(
                        index, keys.bucket(place.tag, bucket), .string(count.stored), endings[index, default: []])
                }
                let replies = try await run(
                    commands, after: earlier, counting: open.map { changes[$0.index].channel }, in: place)
                var refused: [Int] = []
                for (index, reply) in zip(open.map(\.index), replies) {
                    switch reply.count {
                    // `{right count, push}`: the script needs the keys of that `end`.
                    case 2:
                        if endings.isEmpty { try await wakeLater(place) }
                        endings[index] = try ending(reply[1], in: place)
                    // `{right count}`: the caller's count is outdated.
                    case 1: memory.remember(place.key, try bucketCount(reply[0]))
                    default:
                        answers[index] = BucketAnswer(rawValue: try reply.integer())
                        if answers[index].contains(.isOverfull) { overfull.append(index) }
                        continue
                    }
                    refused.append(index)
                }
                return refused
            }
            return overfull
        }
        return answers
    }

    /// Runs commands that change buckets, in one round trip with what counts their channels for the quotas.
    /// - Parameter earlier: commands that Redis must have executed before.
    /// - Returns: the replies to the commands.
    package func run(
        _ commands: [RedisCommand], after earlier: [RedisCommand], counting channels: [[UInt8]], in place: PlaceKeys
    ) async throws(StoreError) -> ArraySlice<Reply> {
        let (quota, count) = counting(place, channels)
        let replies = try await redis.replies(
            earlier + commands + count.commands, inStepsAt: earlier.isEmpty ? [] : [earlier.count])
        if let error = replies.prefix(earlier.count).lazy.compactMap(\.error).first { throw .redis(error) }
        quotas.note(quota, place.key.app, count, replies.dropFirst(earlier.count + commands.count))
        return replies.dropFirst(earlier.count).prefix(commands.count)
    }

    /// The `end` that `registry-set` queues for a channel whose card must end as soon as its token is known.
    private func ending(_ reply: Reply, in place: PlaceKeys) throws(StoreError) -> [RedisArgument] {
        let text = try reply.string()
        guard let id = PushID(text) else { throw .corrupt("the last end of \(place.tag)") }
        return [
            .string(text), .bytes(id.uuid.bytes), .string(keys.pushPrefix(place.tag)),
            .string(keys.tasksPrefix(place.tag)), .string(keys.deadLetterPrefix(place.tag)), .int(keys.retention),
        ]
    }

    /// Sets a timer for the name's retries before channels are queued, in case this process dies before the wake-up.
    private func wakeLater(_ place: PlaceKeys) async throws(StoreError) {
        guard case .activity(let name) = place.key.tokens else { return }
        let item = WorkItem.retries(place.key.app, name, .high)
        try await redis.run([WorkQueue.putOff(keys, item, due: clock() + 2_000)])
    }

    /// Like `apply` for `registry-prune`, but with one call for each bucket, because an `end` removes whole buckets.
    /// - Returns: one digit of the script's answer for each change.
    package func prune(_ changes: [BucketChange], in place: PlaceKeys, now: Int64) async throws(StoreError) -> [Int] {
        var answers = [Int](repeating: 0, count: changes.count)
        let (root, newFollowers) = (keys.root(place.tag), keys.newFollowers(place.tag))
        for start in stride(from: 0, to: changes.count, by: 2 * BucketChange.batch) {
            let range = start..<min(start + 2 * BucketChange.batch, changes.count)
            try await eachBucket(range, of: changes, in: place) { bucket, indices, count in
                RedisCommand(
                    Lua.registryPrune, keys: ["b": root, "bucket": bucket, "y": newFollowers],
                    ["knownCount": .string(count.stored), "latest": RegistryRecord.latest(now)],
                    rest: indices.flatMap { [.bytes(changes[$0].channel)] + changes[$0].arguments })
            } take: { indices, digits throws(StoreError) in
                try StoreError.check(digits.count, of: "registry-prune", is: indices.count)
                for (index, digit) in zip(indices, digits) { answers[index] = Int(digit) - 0x30 }
            }
        }
        return answers
    }

    /// Runs a script with one call for each bucket of the changes. Changes refused for an outdated count are tried
    /// again.
    /// - Parameters:
    ///   - command: the call for a bucket and the changes in it, by index
    ///   - take: reads the script's answer for these changes, a digit for each
    package func eachBucket(
        _ indices: Range<Int>, of changes: [BucketChange], in place: PlaceKeys,
        _ command: (_ bucket: RedisKey, _ indices: [Int], BucketCount) -> RedisCommand,
        take: (_ indices: [Int], _ digits: ArraySlice<UInt8>) throws(StoreError) -> Void
    ) async throws(StoreError) {
        try await withCurrentCount(indices, of: changes, in: place) { open, count throws(StoreError) in
            let buckets = Dictionary(grouping: open, by: \.bucket)
                .map { (bucket: $0.key, indices: $0.value.map(\.index)) }
            let replies = try await redis.replies(
                buckets.map { command(keys.bucket(place.tag, $0.bucket), $0.indices, count) })
            var refused: [Int] = []
            for ((_, indices), reply) in zip(buckets, replies) {
                if reply.count == 1 {
                    memory.remember(place.key, try bucketCount(reply[0]))
                    refused += indices
                } else {
                    try take(indices, try reply.bytes())
                }
            }
            // Changes of one channel stay in order.
            return refused.sorted()
        }
    }

    /// Runs `round` with the changes' buckets. It returns the changes that were refused for an outdated count, which
    /// are tried again.
    func withCurrentCount(
        _ indices: Range<Int>, of changes: [BucketChange], in place: PlaceKeys,
        _ round: (_ open: [(index: Int, bucket: Int)], BucketCount) async throws(StoreError) -> [Int]
    ) async throws(StoreError) {
        var open = Array(indices)
        guard !open.isEmpty else { return }
        try await withCount(place) { count throws(StoreError) in
            let key = count == .one ? nil : try await hashKey(for: count)
            open = try await round(
                open.map { index in (index, key.map { count.bucket(of: $0.hash(changes[index].channel)) } ?? 0) }, count
            )
            return open.isEmpty ? open : nil
        }
    }

    /// Runs `round` with the number of buckets that is known, and again with a newer one while that is outdated.
    /// - Parameter round: returns nil if the count was outdated, and has remembered the newer one
    /// - Throws: `overtaken` after too many rounds in which the count did not even grow
    @discardableResult
    package func withCount<Result>(
        _ place: PlaceKeys, _ round: (BucketCount) async throws(StoreError) -> Result?
    ) async throws(StoreError) -> Result {
        var attempt = 0
        while attempt < Self.countAttempts {
            let known = memory.count(place.key)
            if let result = try await round(known) { return result }
            if memory.count(place.key).buckets <= known.buckets { attempt += 1 }
        }
        throw .overtaken
    }

    /// The count of a place from the reply to its root's field `n`. A newer one is remembered.
    package func rememberCount(_ reply: Reply, of place: PlaceKeys, known: BucketCount) throws(StoreError)
        -> BucketCount
    {
        let count = try bucketCount(reply)
        if count != known { memory.remember(place.key, count) }
        return count
    }

    /// Adds buckets until none of these channels' buckets is too full, at most one for each channel. This pace of
    /// growth keeps buckets at about 90 records. If the process dies half way, the next registration continues.
    package func divide(_ place: PlaceKeys, for channels: [[UInt8]]) async throws(StoreError) {
        // Records must be placed by a key that Redis has. It may have lost everything since the key was read.
        var key = try await loadHashKey(keeping: memory.hashKey)
        var roomy: Set<Int> = []
        var (splits, attempts) = (0, 0)
        var remaining = channels[...]
        while let channel = remaining.first, splits < channels.count, attempts < channels.count + Self.countAttempts {
            var count = memory.count(place.key)
            if count != .one { key = try await hashKey(for: count) }
            let full = count.bucket(of: key.hash(channel))
            guard !roomy.contains(full), count.buckets < BucketCount.maximum else {
                remaining.removeFirst()
                continue
            }
            let source = count.nextSource
            let grown = count.grown(by: key)
            let reply = try await redis.run(
                Lua.registrySplit,
                keys: [
                    "b": keys.root(place.tag), "full": keys.bucket(place.tag, full),
                    "src": keys.bucket(place.tag, source), "dst": keys.bucket(place.tag, count.buckets),
                ],
                [
                    "knownCount": .string(count.stored), "newCount": .string(grown.stored),
                    "dstIndex": .int(count.buckets), "modulus": .int(2 << count.level), "hashKey": .bytes(key.bytes),
                    "threshold": .int(BucketChange.threshold), "now": .int(RegistryRecord.stamp(clock())),
                    "life": .int(place.span.life), "kept": .int(place.span.retention),
                ])
            if reply.count == 1 {
                // Another writer has added the bucket meanwhile.
                memory.remember(place.key, try bucketCount(reply[0]))
                attempts += 1
            } else if try reply.isOne() {
                splits += 1
                count = grown
                memory.remember(place.key, count)
                // A bucket that was split from a roomy one is roomy.
                if roomy.contains(source) { roomy.insert(count.buckets - 1) }
            } else {
                roomy.insert(full)
            }
        }
    }

    package func bucketCount(_ reply: Reply) throws(StoreError) -> BucketCount {
        if reply.isNil { return .one }
        guard let count = BucketCount(stored: try reply.bytes()) else { throw .corrupt("bucket count") }
        return count
    }

    /// The deployment's hash key. It must be the key by which the counted buckets were filled.
    package func hashKey(for count: BucketCount) async throws(StoreError) -> RegistryHashKey {
        if let key = memory.hashKey, count == .one || key.fingerprint == count.fingerprint { return key }
        let key = try await loadHashKey(keeping: nil)
        guard count == .one || key.fingerprint == count.fingerprint else {
            throw .corrupt(
                "hash key of the deployment: this name's tokens were stored under another one. Restore field "
                    + "hash_key of \(keys.deployment). Otherwise such names can be used again after 13 h")
        }
        return key
    }

    /// The deployment's hash key, whichever it is.
    func deploymentHashKey() async throws(StoreError) -> RegistryHashKey {
        if let key = memory.hashKey { return key }
        return try await loadHashKey(keeping: nil)
    }

    /// Reads the key, and makes one if there is none. If several processes do so at once, one of them wins.
    package func loadHashKey(keeping known: RegistryHashKey?) async throws(StoreError) -> RegistryHashKey {
        let proposed = known ?? .random()
        let replies = try await redis.replies([
            RedisCommand("HSETNX", keys.deployment, "hash_key", .bytes(proposed.bytes)),
            RedisCommand("HGET", keys.deployment, "hash_key"),
        ])
        _ = try replies[0].integer()
        let bytes = try replies[1].bytes()
        guard bytes.count == 16 else { throw .corrupt("hash key, which must have 16 bytes") }
        let key = RegistryHashKey(bytes: Array(bytes))
        memory.hashKey = key
        return key
    }
}
