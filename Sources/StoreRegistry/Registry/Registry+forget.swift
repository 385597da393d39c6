package import LiveActivity
import Redis
package import StoreGround

/// The rest that a name still has of a forgotten channel.
package enum Remainder: Int {
    case nothing
    /// The channel was registered later. It follows the name.
    case registration
    /// Pushes wait for the channel. They are due now, and find no token.
    case waitingPushes
}

extension Registry {
    /// Ms for which a name remembers a request to forget a channel. After that, the device's time says whether it
    /// registered later.
    static let forgetNoteLife: Int64 = 86_400_000
    /// Ms for which the note stays after the last request, if a channel has registered since: some looks.
    static let forgetNoteStay: Int64 = 600_000

    /// Removes what a name has of a channel, unless it was registered after `time` (epoch ms). It leaves no tombstone,
    /// but a note for `registry-set`. So a registration that arrives from now on stays, even if its device's clock is
    /// slow.
    package func forget(
        _ app: AppKey, _ tokens: TokenPlace, _ channel: [UInt8], before time: Int64
    ) async throws(StoreError) -> Remainder {
        let place = keys.place(app, tokens)
        let tag = place.tag
        var remainder = Remainder.nothing
        let now = clock()
        try await buckets.withCurrentCount(0..<1, of: [channel], in: place) { open, count throws(StoreError) in
            let reply = try await redis.run(
                Lua.registryForget,
                keys: [
                    "b": keys.root(tag), "bucket": keys.bucket(tag, open.first?.bucket ?? 0), "n": keys.name(tag),
                    "x": keys.quarantine(tag),
                    "e": keys.otherEnvironment(tag), "f": keys.lateJoiners(tag), "a": keys.startedChannels(tag),
                    "z": keys.openRequests(tag), "y": keys.newFollowers(tag), "k": keys.catchUp(tag),
                    "h": keys.retryQueues(tag), "r": keys.waitingChannels(tag), "g": keys.beingForgotten(tag),
                ],
                [
                    "knownCount": .string(count.stored), "channel": .bytes(channel),
                    "before": .int(RegistryRecord.stamp(time)), "now": .int(RegistryRecord.stamp(now)),
                    "latest": buckets.latest(now), "life": .int(Self.forgetNoteLife),
                ])
            if try buckets.isRefused(reply, in: place) { return [0] }
            guard let found = Remainder(rawValue: try reply.integer()) else {
                throw .unexpectedReply("registry-forget answered an unknown number")
            }
            remainder = found
            return []
        }
        return remainder
    }

    /// Drops the note that `forget` left for the registrations of a channel. A later note stays for some minutes:
    /// another request, with its second look still to come, knows by that note alone which registration stays.
    package func endForgetting(
        _ app: AppKey, _ tokens: TokenPlace, _ channel: [UInt8], before time: Int64
    ) async throws(StoreError) {
        let now = clock()
        try await redis.run(
            Lua.registryForgotten, keys: ["g": keys.beingForgotten(keys.tag(app, tokens))],
            [
                "channel": .bytes(channel), "before": .int(RegistryRecord.stamp(time)),
                "now": .int(RegistryRecord.stamp(now)), "latest": buckets.latest(now),
                "stay": .int(Self.forgetNoteStay),
            ])
    }
}
