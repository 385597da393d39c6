/// Which outgoing events an app has, and for whom.
public struct EventPolicy: Sendable, Hashable {
    /// About how many events the app's stream keeps. 0: the app has no stream.
    public var keep: Int
    /// The events that the app's webhook gets. Empty: the app has no webhook.
    public var webhook: Set<OutgoingEvent.Kind>

    public init(keep: Int = 0, webhook: Set<OutgoingEvent.Kind> = []) { (self.keep, self.webhook) = (keep, webhook) }

    /// Whether anybody gets events. If not, nothing is written for them.
    public var isOn: Bool { keep > 0 || !webhook.isEmpty }
}
