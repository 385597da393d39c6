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

    /// The most tokens of one turn: the tokens of a quarter of a second.
    public var slice: Int { max(1, min(ofApp == 0 ? .max : ofApp, ofPush == 0 ? .max : ofPush) / 4) }
}

/// The pace that a platform wants of all senders of an account together. After a rest the rate rises from a sixtieth to
/// the whole.
public struct PlatformPace: Sendable, Hashable {
    public var perSecond: Int
    /// How long the rate rises.
    public var rise: Duration
    /// How long nothing is sent before the rate rises again.
    public var rest: Duration
    /// A turn for more tokens than these is for those of a tenth of a second at the present rate.
    public static let slice = 250

    public init(perSecond: Int, rise: Duration, rest: Duration) {
        (self.perSecond, self.rise, self.rest) = (perSecond, rise, rest)
    }
}

/// A turn in which a worker sends, or why it has none.
public struct DeliveryTurn: Sendable, Hashable {
    /// How many tokens it is for. 0: the caller has no turn. -1: nobody has, because the platform wants a pause.
    public var tokens: Int
    /// How long until the turn, or until the next one.
    public var wait: Duration
    public var isTaken: Bool { tokens > 0 }
    public var isHeld: Bool { tokens < 0 }

    public init(tokens: Int, wait: Duration) { (self.tokens, self.wait) = (tokens, wait) }

    /// Redis did not answer.
    public static let unknown = DeliveryTurn(tokens: 0, wait: .zero)
}

/// The turns in which workers send. A worker takes one for a page, never for a token (docs/adr/0030-delivery-rate.md).
public struct DeliveryRates: Sendable {
    let redis: RedisClient
    let keys: Keyspace

    /// Takes a turn, unless the next one is later than `horizon`.
    /// - Parameter reserve: a page that has waited long may also have one of the turns that only such pages have, if it
    ///   is not later than this.
    public func take(
        _ app: AppKey, _ push: PushID, tokens: Int, _ rate: DeliveryRate, horizon: Duration, reserve: Duration = .zero
    ) async throws(StoreError) -> DeliveryTurn {
        try await take(
            [
                "appTurn": keys.deliveryTurn(app), "pushTurn": keys.deliveryTurn(app, push),
                "reserveTurn": keys.reservedTurn(app),
            ],
            tokens, rate, nil, horizon: horizon, reserve: reserve)
    }

    /// Takes a turn at a platform, for all pushes of all apps that send with the account. `reserve` is as above.
    /// - Parameter tokens: the turn may be for fewer (`PlatformPace.slice`)
    public func take(
        _ account: PlatformAccount, tokens: Int, _ pace: PlatformPace, horizon: Duration, reserve: Duration = .zero
    ) async throws(StoreError) -> DeliveryTurn {
        try await take(of: account, tokens, pace, horizon: horizon, reserve: reserve)
    }

    /// Gives nobody a turn at the platform for so long, because it answered that it wants a pause.
    public func hold(_ account: PlatformAccount, _ pace: PlatformPace, for length: Duration) async throws(StoreError) {
        _ = try await take(of: account, 0, pace, horizon: .zero, reserve: .zero, hold: length)
    }

    private func take(
        of account: PlatformAccount, _ tokens: Int, _ pace: PlatformPace, horizon: Duration, reserve: Duration,
        hold: Duration = .zero
    ) async throws(StoreError) -> DeliveryTurn {
        let turn = keys.deliveryTurn(account)
        return try await take(
            ["appTurn": turn, "pushTurn": turn, "reserveTurn": keys.reservedTurn(account)], tokens,
            DeliveryRate(ofApp: pace.perSecond, ofPush: 0), pace, horizon: horizon, reserve: reserve, hold: hold)
    }

    private func take(
        _ turns: KeyValuePairs<String, RedisKey>, _ tokens: Int, _ rate: DeliveryRate?, _ pace: PlatformPace?,
        horizon: Duration, reserve: Duration, hold: Duration = .zero
    ) async throws(StoreError) -> DeliveryTurn {
        let (tokens, wait) = try await redis.run(
            Lua.deliveryTurn, keys: turns,
            [
                "tokens": .int(tokens), "ofApp": .int(rate?.ofApp ?? 0), "ofPush": .int(rate?.ofPush ?? 0),
                "rise": .int(pace?.rise.milliseconds ?? 0), "quiet": .int(pace?.rest.milliseconds ?? 0),
                "slice": .int(pace == nil ? 0 : PlatformPace.slice), "horizon": .int(horizon.milliseconds),
                "reserve": .int(reserve.milliseconds), "hold": .int(hold.milliseconds),
            ]
        ).values(.integer("tokens"), .integer("wait"))
        return DeliveryTurn(tokens: Int(tokens), wait: .milliseconds(wait))
    }
}
