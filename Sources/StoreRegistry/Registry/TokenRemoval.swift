public import LiveActivity

/// A token (stored form) that is to be removed from a name: APNs called it dead, or its activity has ended.
public struct TokenRemoval: Sendable, Hashable {
    public var channel: [UInt8]
    public var token: [UInt8]
    /// A 410's time (epoch ms): only an older registration is pruned. Nil for a 400. With `hasEnded`, the time of the
    /// end's delivery: the token goes whenever it was registered, and older registrations do not bring it back. With
    /// `endsRegistration`, the time of that registration.
    public var deadSince: Int64?
    /// The token's `end` was delivered.
    public var hasEnded = false
    /// APNs's reason, for operators.
    public var reason = ""
    /// The attributes type, if this is a start token; nil: it is a token of the name.
    public var attributesType: String?
    /// The platform that called the token dead, or delivered its `end`.
    public var platform: Platform

    public init(
        channel: [UInt8], token: [UInt8], deadSince: Int64?, reason: String = "", attributesType: String? = nil,
        platform: Platform = .ios
    ) {
        self.channel = channel
        self.token = token
        self.deadSince = deadSince
        self.reason = reason
        self.attributesType = attributesType
        self.platform = platform
    }

    /// - Parameters:
    ///   - endedAt: when the `end` was delivered, epoch ms
    ///   - registeredAt: the time of the registration that got the `end`, epoch ms
    public init(
        channel: [UInt8], token: [UInt8], endedAt: Int64, registeredAt: Int64? = nil, platform: Platform = .ios
    ) {
        let time = platform.hasOneAddress ? registeredAt ?? endedAt : endedAt
        self.init(channel: channel, token: token, deadSince: time, platform: platform)
        hasEnded = true
    }

    /// The `end` takes one registration, and no later one. On a platform where a channel has one address the token does
    /// not tell a new following from the one that ended.
    var endsRegistration: Bool { hasEnded && platform.hasOneAddress }

    /// Where the token is registered, for a push of `name`. A dead start token does not remove an activity's token.
    public func place(of name: ActivityName) -> TokenPlace {
        attributesType.map { .startTokens(of: $0) } ?? .activity(name)
    }
}
