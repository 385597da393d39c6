public import LiveActivity

/// How much work of one app waits.
public struct QueueDepth: Sendable, Hashable {
    public var app: AppKey
    public var pushesHigh = 0
    public var pushesLow = 0
    public var shardTasks = 0
    /// Tasks that wait for their time: retries, and the work of an app whose circuit is open.
    public var retriesDue = 0

    package init(app: AppKey) { self.app = app }
}
