import LiveActivity
import Redis

extension Registry {
    /// Puts registrations and tombstones of a backup into a place, unless it has something newer of their channels.
    /// Writes in the order of `track`, so to repeat the call after a crash completes it.
    /// - Parameter endAfter: as for `track`
    func restore(
        _ app: AppKey, _ tokens: TokenPlace, _ stored: StoredTokens, endAfter: Duration?
    ) async throws(StoreError) -> RestoreCounts {
        let place = keys.place(app, tokens)
        let now = clock()
        var counts = RestoreCounts()
        var (channels, values, lives): ([[UInt8]], [[UInt8]], [Int64]) = ([], [], [])
        var areRegistrations: [Bool] = []
        var firstStart: Int64?
        for (channel, value) in stored.entries {
            guard ChannelID(stored: channel) != nil else {
                counts.unreadable += 1
                continue
            }
            switch RegistryRecord.restorable(value, now: now, place.lifetime) {
            case .malformed: counts.unreadable += 1
            case .over: counts.expired += 1
            case .tombstone:
                channels.append(channel)
                values.append(value)
                lives.append(place.lifetime.retention)
                areRegistrations.append(false)
            case .registration(let startedAt):
                let life = place.lifetime.retention + max(0, startedAt - now)
                channels.append(channel)
                values.append(value)
                lives.append(life)
                areRegistrations.append(true)
                firstStart = min(startedAt, firstStart ?? startedAt)
            }
        }
        let (note, key) = (followings.notes(place, now: now), try await buckets.hashKey())
        for start in stride(from: 0, to: channels.count, by: 4 * Buckets.batch) {
            let range = start..<min(start + 4 * Buckets.batch, channels.count)
            counts += try await put(channels, values, lives, range, in: place) { index in
                let channel = channels[index]
                return areRegistrations[index] ? note(channel, key.hash(channel), lives[index]) : nil
            }
        }
        if let firstStart { try await enlist(place, now: now, endDue: endAfter.map { firstStart + $0.milliseconds }) }
        return counts
    }

    /// - Returns: how many were stored, were kept, and were removed since the backup.
    private func put(
        _ channels: [[UInt8]], _ values: [[UInt8]], _ lives: [Int64], _ range: Range<Int>, in place: PlaceKeys,
        after note: (_ index: Int) -> RedisCommand?
    ) async throws(StoreError) -> RestoreCounts {
        let tag = place.tag
        var counts = RestoreCounts()
        var overfull: [Int] = []
        try await buckets.each(range, of: channels, in: place, after: note) { bucket, indices, count in
            RedisCommand(
                Lua.registryRestore,
                keys: [
                    "b": keys.root(tag), "bucket": bucket, "n": keys.name(tag), "h": keys.retryQueues(tag),
                    "k": keys.catchUp(tag),
                ],
                [
                    "knownCount": .string(count.stored), "life": .int(indices.reduce(0) { max($0, lives[$1]) }),
                    "threshold": .int(Buckets.threshold),
                ], rest: indices.flatMap { [.bytes(channels[$0]), .bytes(values[$0])] })
        } take: { indices, digits throws(StoreError) in
            guard digits.count == indices.count || digits.count == indices.count + 1 else {
                throw .wrongCount("registry-restore", digits.count, expected: indices.count)
            }
            counts.stored += digits.count { $0 == UInt8(ascii: "1") }
            counts.kept += digits.count { $0 == UInt8(ascii: "0") }
            counts.removed += digits.count { $0 == UInt8(ascii: "2") }
            if digits.count > indices.count { overfull += indices }
        }
        if !overfull.isEmpty { try await buckets.divide(place, for: overfull.map { channels[$0] }) }
        return counts
    }
}

extension RegistryRecord {
    enum Restorable {
        /// `startedAt` is epoch ms.
        case registration(startedAt: Int64)
        case tombstone
        /// The life of the record is over, or the time for which a tombstone refuses registrations.
        case over
        case malformed
    }

    /// The present meaning of a record of a backup.
    static func restorable(_ value: [UInt8], now: Int64, _ lifetime: Lifetime) -> Restorable {
        guard let action = value.withUnsafeBytes({ action(of: $0) }) else { return .malformed }
        if action.isTombstone {
            // Behind the fixed part removals of other activities may follow.
            let fixed = action.isPruned && value.count > 15 ? 18 : 15
            let most = fixed + (action.isPruned ? 2 : 1) * removalLength
            guard value.count >= fixed, value.count <= most, (value.count - fixed).isMultiple(of: removalLength) else {
                return .malformed
            }
            return action.time + lifetime.retention > now ? .tombstone : .over
        }
        return switch read(value[...], now: now, lifetime) {
        case .live(_, let registeredAt, _, let minutes, _):
            .registration(startedAt: registeredAt - Int64(minutes) * 60_000)
        case .absent: .over
        case .malformed: .malformed
        }
    }
}
