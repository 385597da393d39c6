import LiveActivity
package import Redis
package import StoreGround

/// The buckets of a name or of an attributes type: how many there are, which one a channel is in, and how they divide.
///
/// The root, bucket 0, holds the count and is a key of each script, which refuses an outdated count. A process guesses
/// the count that it saw last, and tries again with a newer one.
package struct Buckets: Sendable {
    /// Most tries with a changed count. A larger count does not use one up, because other writers may be faster.
    package static let countAttempts = 32
    /// Fields beyond which a bucket is divided: larger ones are cheap to read, but dear to write (compact encoding).
    package static let threshold = 128
    /// Changes of one round trip: tens of milliseconds of the server's time. A bucket can be overfilled by as many.
    package static let batch = 500

    package let redis: RedisClient
    package let keys: Keyspace
    package let memory = RegistryMemory()
    /// Epoch milliseconds.
    package let clock: @Sendable () -> Int64
    /// How far ahead of the clock a stored time may lie, ms (`ServerTime.ahead`).
    package let ahead: @Sendable () -> Int64

    package init(
        redis: RedisClient, keys: Keyspace, ahead: @escaping @Sendable () -> Int64 = { ServerTime.error.milliseconds },
        clock: @escaping @Sendable () -> Int64
    ) {
        self.redis = redis
        self.keys = keys
        self.ahead = ahead
        self.clock = clock
    }

    /// The latest time of a stored action that is believed, ms since 2020.
    /// - Parameter now: this process's time, epoch ms.
    package func latest(_ now: Int64) -> RedisArgument { .int(RegistryRecord.stamp(now + ahead())) }

    /// Runs a script with one call for each bucket of the channels. Channels refused for an outdated count are tried
    /// again.
    /// - Parameters:
    ///   - note: the channel's note in `FollowingIndex`, by index. It is written before, unless the name is large.
    ///   - command: the call for a bucket and the channels in it, by index
    ///   - take: reads the script's answer for these channels, a digit for each
    package func each(
        _ indices: Range<Int>, of channels: [[UInt8]], in place: PlaceKeys,
        after note: (_ index: Int) -> RedisCommand? = { _ in nil },
        _ command: (_ bucket: RedisKey, _ indices: [Int], BucketCount) -> RedisCommand,
        take: (_ indices: [Int], _ digits: ArraySlice<UInt8>) throws(StoreError) -> Void
    ) async throws(StoreError) {
        try await withCurrentCount(indices, of: channels, in: place) { open, count throws(StoreError) in
            let buckets = Dictionary(grouping: open, by: \.bucket)
                .map { (bucket: $0.key, indices: $0.value.map(\.index)) }
            let notes = place.isLarge(count) ? [] : open.compactMap { note($0.index) }
            if !notes.isEmpty { try await redis.run(notes) }
            let replies = try await redis.replies(
                buckets.map { command(keys.bucket(place.tag, $0.bucket), $0.indices, count) })
            var refused: [Int] = []
            for ((_, indices), reply) in zip(buckets, replies) {
                if try isRefused(reply, in: place) {
                    refused += indices
                } else {
                    try take(indices, try reply.bytes())
                }
            }
            // Changes of one channel stay in order.
            return refused.sorted()
        }
    }

    /// Runs `round` with the channels' buckets. It returns the channels that were refused for an outdated count, which
    /// are tried again.
    package func withCurrentCount(
        _ indices: Range<Int>, of channels: [[UInt8]], in place: PlaceKeys,
        _ round: (_ open: [(index: Int, bucket: Int)], BucketCount) async throws(StoreError) -> [Int]
    ) async throws(StoreError) {
        var open = Array(indices)
        guard !open.isEmpty else { return }
        try await withCount(place) { count throws(StoreError) in
            let numbers = try await self.numbers(of: ChannelList(open.map { channels[$0] }), count)
            open = try await round(zip(open, numbers).map { (index: $0, bucket: $1) }, count)
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

    /// The number of each channel's bucket, if there are `count`.
    package func numbers(of channels: ChannelList, _ count: BucketCount) async throws(StoreError) -> [Int] {
        if count == .one { return channels.indices.map { _ in 0 } }
        let key = try await hashKey(for: count)
        return channels.indices.map { count.bucket(of: channels.withBytes($0) { key.hash($0) }) }
    }

    /// Whether a script refused an outdated count: it answers `{right count}`, which is remembered.
    package func isRefused(_ reply: Reply, in place: PlaceKeys) throws(StoreError) -> Bool {
        guard reply.count == 1 else { return false }
        var values = try ReplyValues(reply)
        memory.remember(place.key, try BucketCount(values.last(.any("right count"))))
        return true
    }

    /// The count of a place from the reply to its root's field `n`. A newer one is remembered.
    package func rememberCount(
        _ reply: Reply, of place: PlaceKeys, known: BucketCount
    ) throws(StoreError) -> BucketCount {
        let count = try BucketCount(reply)
        if count != known { memory.remember(place.key, count) }
        return count
    }

    /// Gives a place of one bucket so many, so that they need not divide while tokens come. Another place keeps its
    /// own. If fewer tokens come, buckets stay small or empty until the place expires.
    package func make(_ number: Int, in place: PlaceKeys) async throws(StoreError) {
        guard (2...BucketCount.maximum).contains(number) else { return }
        // As in `divide`.
        let key = try await loadHashKey(keeping: memory.hashKey)
        let count = BucketCount(buckets: number, fingerprint: key.fingerprint)
        try await listLarge(place, count)
        let reply = try await redis.run(
            Lua.registrySize, keys: ["b": keys.root(place.tag)],
            [
                "newCount": .string(count.stored), "hashKey": .bytes(key.bytes), "number": .int(number),
                "modulus": .int(2 << count.level), "life": .int(place.lifetime.retention),
            ])
        guard try reply.isOne() else { return }
        memory.remember(place.key, count)
        // The root may be new, so the name may have left its app's index.
        memory.forgetListing(place.key)
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
            if !place.isLarge(count) { try await listLarge(place, grown) }
            let reply = try await redis.run(
                Lua.registrySplit,
                keys: [
                    "b": keys.root(place.tag), "full": keys.bucket(place.tag, full),
                    "src": keys.bucket(place.tag, source), "dst": keys.bucket(place.tag, count.buckets),
                ],
                [
                    "knownCount": .string(count.stored), "newCount": .string(grown.stored),
                    "dstIndex": .int(count.buckets), "modulus": .int(2 << count.level), "hashKey": .bytes(key.bytes),
                    "threshold": .int(Self.threshold), "now": .int(RegistryRecord.stamp(clock())),
                    "life": .int(place.lifetime.length), "kept": .int(place.lifetime.retention),
                ])
            if try isRefused(reply, in: place) {
                // Another writer has added the bucket meanwhile.
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

    /// A worker looks at a large name again after this many milliseconds: much longer than any command waits.
    package static let largeFor: Int64 = 3_600_000

    /// The command that puts a place on its app's list of large names, if it is one with so many buckets. That comes
    /// before the root says so, because registrations then leave out the index of channels.
    package func listing(_ place: PlaceKeys, _ count: BucketCount) -> RedisCommand? {
        guard place.isLarge(count), case .activity(let name) = place.key.tokens else { return nil }
        return RedisCommand(
            "ZADD", keys.largeNames(place.key.app), .int(clock() + Self.largeFor), .string(name.rawValue))
    }

    private func listLarge(_ place: PlaceKeys, _ count: BucketCount) async throws(StoreError) {
        if let listing = listing(place, count) { try await redis.run([listing]) }
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
    package func hashKey() async throws(StoreError) -> RegistryHashKey {
        if let key = memory.hashKey { return key }
        return try await loadHashKey(keeping: nil)
    }

    /// Reads the key, and makes one if there is none. If several processes do so at once, one of them wins.
    package func loadHashKey(keeping known: RegistryHashKey?) async throws(StoreError) -> RegistryHashKey {
        let proposed = known ?? .random()
        let (_, bytes) = try await redis.replies([
            RedisCommand("HSETNX", keys.deployment, "hash_key", .bytes(proposed.bytes)),
            RedisCommand("HGET", keys.deployment, "hash_key"),
        ]).values(.integer("HSETNX"), .bytes("hash_key"))
        guard bytes.count == 16 else { throw .corrupt("hash key, which must have 16 bytes") }
        let key = RegistryHashKey(bytes: Array(bytes))
        memory.hashKey = key
        return key
    }
}

extension BucketCount {
    /// Reads the reply to a root's field `n`.
    package init(_ reply: Reply) throws(StoreError) {
        guard !reply.isNil else {
            self = .one
            return
        }
        guard let count = BucketCount(stored: try reply.bytes()) else { throw .corrupt("bucket count") }
        self = count
    }
}
