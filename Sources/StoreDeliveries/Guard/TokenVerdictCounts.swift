/// APNs's verdicts on tokens: alive (200) or dead. Other answers say nothing about a token.
public struct TokenVerdictCounts: Sendable, Hashable {
    public var answers: Int
    /// 400 BadDeviceToken and DeviceTokenNotForTopic.
    public var dead: Int
    /// 410 Unregistered and ExpiredToken.
    public var gone: Int

    public init(answers: Int = 0, dead: Int = 0, gone: Int = 0) {
        self.answers = answers
        self.dead = dead
        self.gone = gone
    }

    public static func += (sum: inout TokenVerdictCounts, other: TokenVerdictCounts) {
        sum.answers += other.answers
        sum.dead += other.dead
        sum.gone += other.gone
    }
}
