public import LiveActivity
import Redis
public import StoreGround

/// A channel that a push did not light.
public struct UnlitChannel: Sendable, Hashable {
    public var channel: ChannelID
    /// `pruned` or `failed`.
    public var outcome: SettledField
    /// From APNs or the connection.
    public var reason: String
}

extension DeadLetters {
    /// The kept channels of a push: the first 1,000 that it pruned and the first 10,000 that it gave up, less the
    /// channels that were retried or forgotten. In no order. Nil if the app has no such push.
    public func channels(_ app: AppKey, of push: PushID) async throws(StoreError) -> [UnlitChannel]? {
        guard let name = try await pushes.name(of: push, app) else { return nil }
        let tag = keys.tag(app, name)
        var found: [UnlitChannel] = []
        for (outcome, key) in [
            (SettledField.pruned, keys.pruned(tag, push)), (.failed, keys.deadChannels(tag, push)),
        ] {
            try await redis.eachPart(ofHash: key, count: 1_000, read: Self.channelAndReason) { part in
                found += part.map { UnlitChannel(channel: $0.channel, outcome: outcome, reason: $0.reason) }
            }
        }
        return found
    }

    private static func channelAndReason(
        _ field: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>
    ) -> (channel: ChannelID, reason: String)? {
        ChannelID(stored: Array(field)).map { ($0, String(decoding: value, as: UTF8.self)) }
    }
}
