public import LiveActivity
import Redis
public import StoreGround

public enum RegistrationResult: Sendable, Hashable {
    /// Stored: the registration is new, or not older than the stored one.
    case stored
    /// Nothing changed: a newer update was there, or the registration is past its life. No error for a device.
    case stale
}

extension Registry {
    /// A registration as the scripts take it.
    struct EncodedRegistration {
        /// In the caller's list.
        let position: Int
        let channel: [UInt8]
        /// The channel's hash under the key that this process knows, for the index and for an order. No bucket is
        /// chosen by it.
        let hash: UInt32
        let record: RegistryRecord.Encoded
        /// The flags for `registry-set`.
        let flags: Int
    }

    /// How many registrations are best stored in one call, if there are more: so many that several are of one bucket of
    /// a large name. They are fewer under a small quota, because a call may pass it as a whole.
    public func batchSize(of tokens: TokenPlace) -> Int {
        let limit = quotas.limit(tokens.quota)
        return limit > 0 ? min(max(1_000, limit / 100), Self.mostAtOnce) : Self.mostAtOnce
    }

    /// Stores registrations in order, in batches. After an error some may be stored, and repeating is harmless. Writes
    /// the index of channels, then the records, then lists the name in the app's index, then wakes a worker for late
    /// joiners.
    /// - Parameter endAfter: the age at which cards are to be ended automatically.
    /// - Parameter announced: about how many registrations this call and the next ones bring. A place of one bucket
    ///   gets its buckets at once for them.
    /// - Returns: one result for each registration, in order.
    public func track(
        _ app: AppKey, _ tokens: TokenPlace, _ registrations: [Registration], endAfter: Duration? = nil,
        announced: Int = 0
    ) async throws(StoreError) -> [RegistrationResult] {
        let place = keys.place(app, tokens)
        let now = clock()
        let key = try await buckets.hashKey()
        // A registration that is past its life has no record and stays stale.
        let entries = registrations.enumerated().compactMap { position, registration -> EncodedRegistration? in
            let atArrival = RegistryRecord.withTimeOfArrival(registration, now: now, place.lifetime)
            let record = RegistryRecord.encode(atArrival ?? registration, now: now, place.lifetime)
            let channel = registration.channel.stored
            return record.map {
                EncodedRegistration(
                    position: position, channel: channel, hash: key.hash(channel), record: $0,
                    flags: (registration.wantsState ? 1 : 0) + (atArrival == nil ? 0 : 2)
                        + (registration.isMoved ? 4 : 0))
            }
        }
        var results = [RegistrationResult](repeating: .stale, count: registrations.count)
        let answers = try await withRoom(place, entries.map(\.channel)) { () async throws(StoreError) in
            if buckets.memory.count(place.key) == .one {
                try await buckets.make(BucketCount.number(for: announced), in: place)
            }
            let answers = try await write(entries, in: place, now: now)
            let stored = zip(entries, answers).filter { !$0.1.isEmpty }.map(\.0)
            for entry in stored { results[entry.position] = .stored }
            // An automatic end is for platforms that end a card themselves.
            let cards = stored.filter { !registrations[$0.position].token.platform.hasOneAddress }
            let endDue = cards.map(\.record.startedAt).min().flatMap { firstStart in
                endAfter.map { firstStart + $0.milliseconds }
            }
            if !stored.isEmpty {
                try await enlist(
                    place, now: now, endDue: endDue, isNew: answers.contains { $0.contains(.beginsName) })
            }
            return answers
        }
        note(place, began: answers.count { $0.contains(.changesFollowing) })
        // If the process dies before it wakes a worker, the caller repeats the call, and the script asks for it again.
        if case .activity(let name) = tokens, answers.contains(where: { $0.contains(.wakesLateJoiners) }) {
            try await redis.run([WorkQueue.add(keys, .late(app, name))])
        }
        return results
    }

    /// Puts the name into its app's index after its tokens. After a crash in between, the caller repeats the call.
    /// - Parameter endDue: when the first of these cards is to be ended (epoch ms). It is noted for every stored
    ///   registration, because a repeated one begins no card.
    /// - Parameter isNew: the name's root is new. Since this process put the name in, another one may have taken it out
    ///   of the index, or Redis may have lost it.
    package func enlist(
        _ place: PlaceKeys, now: Int64, endDue: Int64? = nil, isNew: Bool = false
    ) async throws(StoreError) {
        guard case .activity(let name) = place.key.tokens else { return }
        let app = place.key.app
        let isUnlisted = isNew || buckets.memory.needsListing(place.key, now: now)
        // A cluster's node may have lost that the name was listed when it became large.
        let large = isUnlisted ? buckets.listing(place, buckets.memory.count(place.key)) : nil
        let commands =
            (isUnlisted ? [Names.listing(keys, app, [name])] : []) + [large].compactMap(\.self)
            + (endDue.map { [Names.ending(keys, app, [(name, $0)])] } ?? [])
        if commands.isEmpty { return }
        let measure = isUnlisted ? quotas.countNames(app, now: now) : Quotas.Count()
        let replies = try await redis.run(commands + measure.commands)
        quotas.note(.names, app, measure, replies.dropFirst(commands.count))
        if isUnlisted { buckets.memory.listed(place.key, at: now) }
    }

    /// One registration alone goes to `registry-set`. Several go to `registry-join`, and the registrations that it
    /// leaves go to `registry-set`.
    private func write(
        _ entries: [EncodedRegistration], in place: PlaceKeys, now: Int64
    ) async throws(StoreError) -> [BucketAnswer] {
        if entries.count == 1 { return try await set(entries, in: place, now: now) }
        // Later registrations of a channel come after its first one, in either script.
        var channels: Set<[UInt8]> = []
        channels.reserveCapacity(entries.count)
        var firsts = entries.indices.filter { channels.insert(entries[$0].channel).inserted }[...]
        var answers = [BucketAnswer?](repeating: nil, count: entries.count)
        while !firsts.isEmpty {
            let part = inOrderOfBuckets(&firsts, of: entries, in: place)
            let joined = try await join(part.map { entries[$0] }, in: place, now: now)
            for (index, answer) in zip(part, joined) { answers[index] = answer }
        }
        let left = entries.indices.filter { answers[$0] == nil }
        if left.isEmpty { return answers.compactMap(\.self) }
        let decided = try await set(left.map { entries[$0] }, in: place, now: now)
        for (index, answer) in zip(left, decided) { answers[index] = answer }
        return answers.compactMap(\.self)
    }

    /// Takes the next part from the entries that are left. In the order of buckets, a call of Redis is for several
    /// tokens of a bucket. A part has few for each bucket, so that all of a place's buckets grow alike and divide in
    /// time.
    private func inOrderOfBuckets(
        _ left: inout ArraySlice<Int>, of entries: [EncodedRegistration], in place: PlaceKeys
    ) -> [Int] {
        let count = buckets.memory.count(place.key)
        let part = Array(left.prefix(max(Buckets.batch, Self.joinedOfBucket * count.buckets)))
        left = left.dropFirst(part.count)
        guard part.count > Buckets.batch else { return part }
        return part.map { (index: $0, bucket: count.bucket(of: entries[$0].hash)) }.sorted { $0.bucket < $1.bucket }
            .map(\.index)
    }

    /// Makes the notes of registrations in the index of channels, by index.
    func notes(
        of entries: [EncodedRegistration], in place: PlaceKeys, now: Int64
    ) -> (_ index: Int) -> RedisCommand {
        let note = followings.notes(place, now: now)
        return { note(entries[$0].channel, entries[$0].hash, entries[$0].record.retention) }
    }

    private func set(
        _ entries: [EncodedRegistration], in place: PlaceKeys, now: Int64
    ) async throws(StoreError) -> [BucketAnswer] {
        let tag = place.tag
        let root = keys.root(tag)
        let note = notes(of: entries, in: place, now: now)
        return try await apply(entries.map(\.channel), in: place, after: note) {
            (index, bucket, count, rest) in
            let entry = entries[index]
            return RedisCommand(
                Lua.registrySet,
                keys: [
                    "b": root, "bucket": bucket, "n": keys.name(tag), "h": keys.retryQueues(tag),
                    "k": keys.catchUp(tag), "y": keys.newFollowers(tag), "v": keys.contentStates(tag),
                    "f": keys.lateJoiners(tag), "a": keys.startedChannels(tag), "r": keys.waitingChannels(tag),
                    "g": keys.beingForgotten(tag),
                ],
                [
                    "knownCount": count, "channel": .bytes(entry.channel), "record": .bytes(entry.record.value),
                    "now": .int(RegistryRecord.stamp(now)), "latest": buckets.latest(now),
                    "life": .int(entry.record.retention),
                    "threshold": .int(Buckets.threshold), "flags": .int(entry.flags),
                ], rest: rest)
        }
    }
}
