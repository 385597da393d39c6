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
    /// - Parameter reserve: a page that has waited long may also have one of the turns that only such pages have, if it
    ///   is not later than this.
    /// - Returns: whether the caller has a turn, and how long it waits for it, or for the next one.
    public func take(
        _ app: AppKey, _ push: PushID, tokens: Int, _ rate: DeliveryRate, horizon: Duration, reserve: Duration = .zero
    ) async throws(StoreError) -> (isTaken: Bool, wait: Duration) {
        let (isTaken, wait) = try await redis.run(
            Lua.deliveryTurn,
            keys: [
                "appTurn": keys.deliveryTurn(app), "pushTurn": keys.deliveryTurn(app, push),
                "reserveTurn": keys.reservedTurn(app),
            ],
            [
                "tokens": .int(tokens), "ofApp": .int(rate.ofApp), "ofPush": .int(rate.ofPush),
                "horizon": .int(horizon.milliseconds), "reserve": .int(reserve.milliseconds),
            ]
        ).values(.flag("turn"), .integer("wait"))
        return (isTaken, .milliseconds(wait))
    }
}
