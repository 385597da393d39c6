package import LiveActivity
import Redis
package import StoreGround

extension Channels {
    /// Members of a set that each change of the set looks at.
    package static let sample = 16

    /// Looks at a few random members of the set of a record's `field`, and removes those whose record lacks it, for
    /// example because it has expired. Each change of a set does so. After an error, the next change tries again.
    package func tidy(_ app: AppKey, _ field: String) async {
        do throws(StoreError) {
            guard let set = keys.members(app, field: field) else { return }
            let members = try await redis.run("SRANDMEMBER", set, .int(Self.sample)).byteStrings()
            let channels = members.compactMap { ChannelID(stored: $0) }
            let gone = try await without(app, field, channels)
            let unreadable = members.filter { ChannelID(stored: $0) == nil }.map(RedisArgument.bytes)
            if gone.isEmpty, unreadable.isEmpty { return }
            try await redis.run("SREM", set, gone.map { .bytes($0.stored) } + unreadable)
            // A channel that joined meanwhile shows its mark here, or its own change comes after the removal.
            let stillGone = Set(try await without(app, field, gone))
            let back = gone.filter { !stillGone.contains($0) }
            if back.isEmpty { return }
            try await redis.run(back.map { RedisCommand("SADD", set, .bytes($0.stored)) })
            // A channel may have left again while it was put back.
            let left = try await without(app, field, back)
            if !left.isEmpty { try await redis.run("SREM", set, left.map { .bytes($0.stored) }) }
        } catch {}
    }

    /// The channels whose record does not have the field.
    package func without(
        _ app: AppKey, _ field: String, _ channels: [ChannelID]
    ) async throws(StoreError) -> [ChannelID] {
        if channels.isEmpty { return [] }
        let replies = try await redis.run(
            channels.map { RedisCommand("HEXISTS", keys.channel(app, $0), .string(field)) })
        var found: [ChannelID] = []
        for (channel, reply) in zip(channels, replies) where try !reply.isOne() { found.append(channel) }
        return found
    }
}
