public import LiveActivity
import Redis

/// How many tokens a second the workers of a deployment send to, together.
public struct DeliveryRate: Sendable, Hashable {
    /// The limits of the app and of each of its pushes. 0 = no limit.
    public var ofApp: Int
    public var ofPush: Int

    /// - Returns: nil if there is no limit
    public init?(ofApp: Int, ofPush: Int) {
        guard ofApp > 0 || ofPush > 0 else { return nil }
        (self.ofApp, self.ofPush) = (ofApp, ofPush)
    }

    /// The most tokens of one turn: those of a quarter of a second.
    public var slice: Int { max(1, min(ofApp == 0 ? .max : ofApp, ofPush == 0 ? .max : ofPush) / 4) }
}

/// The turns in which workers send. A worker takes one for a page, never for a token (docs/adr/0030-delivery-rate.md).
public struct DeliveryRates: Sendable {
    let redis: RedisClient
    let keys: Keyspace

    /// Takes a turn, unless the next one is later than `horizon`.
    /// - Returns: whether the caller has a turn, and how long it waits for it, or for the next one.
    public func take(
        _ app: AppKey, _ push: PushID, tokens: Int, _ rate: DeliveryRate, horizon: Duration
    ) async throws(StoreError) -> (isTaken: Bool, wait: Duration) {
        let reply = try await redis.run(
            Lua.deliveryTurn, keys: ["appTurn": keys.deliveryTurn(app), "pushTurn": keys.deliveryTurn(app, push)],
            [
                "tokens": .int(tokens), "ofApp": .int(rate.ofApp), "ofPush": .int(rate.ofPush),
                "horizon": .int(horizon.milliseconds),
            ])
        return (try reply[0].isOne(), .milliseconds(try reply[1].integer()))
    }
}
