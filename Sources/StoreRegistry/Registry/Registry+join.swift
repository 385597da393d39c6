import LiveActivity
import Redis
import StoreGround

extension Registry {
    /// Most registrations of one call of `registry-join`: under a millisecond of the server's time.
    private static let mostJoined = 100
    /// Registrations of one bucket that are stored together, on average.
    static let joinedOfBucket = 8

    /// Stores those registrations that are the usual case, many with one call.
    /// - Returns: an answer for each. Nil: nothing was done, and `registry-set` must decide.
    func join(
        _ entries: [EncodedRegistration], in place: PlaceKeys, now: Int64
    ) async throws(StoreError) -> [BucketAnswer?] {
        let channels = entries.map(\.channel)
        let note = notes(of: entries, in: place, now: now)
        var answers = [BucketAnswer?](repeating: nil, count: channels.count)
        try await eachBatch(of: channels, in: place) { batch throws(StoreError) in
            var areNoted = false
            var overfull: [Int] = []
            try await buckets.withCurrentCount(batch, of: channels, in: place) { open, count throws(StoreError) in
                let slices = open.sorted { $0.bucket < $1.bucket }.parts(of: Self.mostJoined)
                let notes = areNoted || place.isLarge(count) ? [] : open.map { note($0.index) }
                let replies = try await run(
                    slices.map { joinCommand($0, of: entries, in: place, count) }, after: notes,
                    counting: open.map { channels[$0.index] }, in: place)
                areNoted = areNoted || !notes.isEmpty
                var refused: [Int] = []
                for (slice, reply) in zip(slices, replies) {
                    if try buckets.isRefused(reply, in: place) {
                        refused += slice.map(\.index)
                        continue
                    }
                    let codes = try reply.bytes()
                    try StoreError.check(codes.count, of: "registry-join", is: slice.count)
                    for ((index, _), code) in zip(slice, codes) where code != UInt8(ascii: "0") {
                        let answer = BucketAnswer(rawValue: Int(code) - 0x30)
                        if answer.contains(.isOverfull) { overfull.append(index) }
                        answers[index] = answer
                    }
                }
                return refused
            }
            return overfull
        }
        return answers
    }

    private func joinCommand(
        _ slice: ArraySlice<(index: Int, bucket: Int)>, of entries: [EncodedRegistration], in place: PlaceKeys,
        _ count: BucketCount
    ) -> RedisCommand {
        let (tag, life) = (place.tag, place.lifetime.retention)
        return RedisCommand(
            Lua.registryJoin,
            keys: [
                "b": keys.root(tag), "n": keys.name(tag), "h": keys.retryQueues(tag), "a": keys.startedChannels(tag),
                "f": keys.lateJoiners(tag), "v": keys.contentStates(tag), "g": keys.beingForgotten(tag),
            ],
            [
                "knownCount": .string(count.stored), "life": .int(life), "threshold": .int(Buckets.threshold),
            ],
            rest: slice.flatMap { index, bucket -> [RedisArgument] in
                let entry = entries[index]
                // A bucket lives longer for an activity that starts later.
                let flags = entry.flags + (entry.record.retention == life ? 0 : 4)
                return [.int(bucket), .bytes(entry.channel), .bytes(entry.record.value), .int(flags)]
            })
    }
}
