public import LiveActivity

/// The request that sends a push to its name's broadcast channel, besides those to tokens. No target of the ledger.
public struct PushBroadcast: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, CaseIterable {
        case waiting, delivered, failed, superseded, expired, cancelled
    }

    public var state: State
    /// The broadcast channel of the last attempt. `status` and `reason` are of that attempt too.
    public var channel: BroadcastChannelID?
    /// APNs's status; nil = no answer.
    public var status: Int?
    public var reason: String?
    public var attempts: Int
}
