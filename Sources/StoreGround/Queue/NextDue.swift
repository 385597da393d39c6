public import LiveActivity

/// When the first timer of each kind is due, epoch milliseconds; nil: none waits.
public struct NextDue: Sendable, Hashable {
    /// A task of the timer. It goes back to its stream when it is due.
    public var task: Int64?
    public var schedule: Int64?
    /// For each app: the first broadcast channel that is to be made or deleted.
    public var broadcastChannels: [AppKey: Int64] = [:]
    /// The first name with cards that are to be ended automatically.
    public var end: Int64?
}
