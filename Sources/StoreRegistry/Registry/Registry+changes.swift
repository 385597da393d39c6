import LiveActivity
import Redis
import StoreGround

/// The answer of a script that changes a bucket. Empty: the change is stale, so nothing was stored.
struct BucketAnswer: OptionSet, Sendable {
    let rawValue: Int

    /// The change is stored, and the bucket is too full.
    static let isOverfull = BucketAnswer(rawValue: 2)
    /// The caller must wake a worker for late joiners.
    static let wakesLateJoiners = BucketAnswer(rawValue: 4)
    /// The name had no tokens and no tombstones before. It may have left its app's index.
    static let beginsName = BucketAnswer(rawValue: 8)
    /// The channel follows the name since this change, or did so until this change.
    static let changesFollowing = BucketAnswer(rawValue: 16)
}

extension Registry {
    /// Runs `body` for one batch of the channels after the other. Before the next one it divides too full buckets.
    /// - Parameters:
    ///   - body: returns the channels whose buckets are too full, by index.
    func eachBatch(
        of channels: [[UInt8]], in place: PlaceKeys, _ body: (Range<Int>) async throws(StoreError) -> [Int]
    ) async throws(StoreError) {
        var start = 0
        while start < channels.count {
            // A small name's first batches are small, so that no bucket holds much more than twice the threshold.
            let room = max(Buckets.threshold, 64 * buckets.memory.count(place.key).buckets)
            let end = min(start + min(Buckets.batch, room), channels.count)
            let overfull = try await body(start..<end)
            if !overfull.isEmpty { try await buckets.divide(place, for: overfull.map { channels[$0] }) }
            start = end
        }
    }

    /// Runs a script for each channel and returns its answers, in order. Changes with an outdated count are refused and
    /// run again.
    /// - Parameter command: makes the call for the channel of that index.
    /// - Parameter note: makes the channel's note in `FollowingIndex`. It is written before, unless the name is large.
    func apply(
        _ channels: [[UInt8]], in place: PlaceKeys, after note: (_ index: Int) -> RedisCommand? = { _ in nil },
        _ command: (_ index: Int, _ bucket: RedisKey, _ count: RedisArgument, _ rest: [RedisArgument]) -> RedisCommand
    ) async throws(StoreError) -> [BucketAnswer] {
        var answers = [BucketAnswer](repeating: [], count: channels.count)
        // Arguments for the `end` that the script asked for, by channel.
        var endings: [Int: [RedisArgument]] = [:]
        try await eachBatch(of: channels, in: place) { batch throws(StoreError) in
            var overfull: [Int] = []
            try await buckets.withCurrentCount(batch, of: channels, in: place) { open, count throws(StoreError) in
                let notes = place.isLarge(count) ? [] : open.compactMap { note($0.index) }
                let commands = open.map { index, bucket in
                    command(
                        index, keys.bucket(place.tag, bucket), .string(count.stored), endings[index, default: []])
                }
                let replies = try await run(
                    commands, after: notes, counting: open.map { channels[$0.index] }, in: place)
                var refused: [Int] = []
                for (index, reply) in zip(open.map(\.index), replies) {
                    if reply.count == 2 {
                        // The script needs the keys of that `end`.
                        if endings.isEmpty { try await wakeLater(place) }
                        let (_, push) = try reply.values(.any("right count"), .any("push"))
                        endings[index] = try ending(push, in: place)
                    } else if try !buckets.isRefused(reply, in: place) {
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
    func run(
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
}
