public struct WebhookOptions: Sendable {
    /// An event that waits longer than this when an attempt fails becomes a dead event.
    public var giveUpAfter: Duration = .seconds(86_400)
    /// The longest pause between attempts. Tests shorten it.
    package var longestPause: Duration = .seconds(300)

    public init() {}
}
