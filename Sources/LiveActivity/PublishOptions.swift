public struct PublishOptions: Sendable, Hashable {
    /// False opts the push out of superseding and pacing.
    public var conflate: Bool
    /// Epoch seconds after which the push is not tried any more, sent as `apns-expiration`; 0: try each token once.
    public var expiry: Int?
    /// Keeps priority 10, whatever the budget says.
    public var insist: Bool
    /// For a start: it also goes to channels that follow the name already.
    public var restart: Bool
    /// For a start: it does not go to channels whose user dismissed the name's card. Nil: as the app's settings say.
    public var respectDismissal: Bool?
    /// The channel whose exchanges with APNs are kept.
    public var trace: ChannelID?

    public init(
        conflate: Bool = true, expiry: Int? = nil, insist: Bool = false, restart: Bool = false, trace: ChannelID? = nil
    ) {
        (self.conflate, self.expiry, self.insist, self.restart) = (conflate, expiry, insist, restart)
        self.trace = trace
    }
}
