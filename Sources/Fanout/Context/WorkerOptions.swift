public import LiveActivity
public import Store

public struct WorkerOptions: Sendable {
    /// The name that `status` shows. A random part is added, so that two workers never have the same name.
    public var name: String
    /// Tokens in a page.
    public var pageSize = 1_000
    /// Pages of one shard that are in flight at once.
    public var openPages = 4
    /// Small pushes that are processed at once. Priority 5 has a quarter as many in addition.
    public var concurrency = 48
    /// How long a lease lasts, and how long a pending entry stays with its worker before another one may claim it.
    public var claimAfter: Duration = .seconds(10)
    /// How many owners of a part may crash or stall in a row, without progress, before the part is given up.
    var maxClaims = 8
    public var drainTimeout: Duration = .seconds(25)
    /// The least time between two supersedable updates of a name; 0 = off.
    public var minInterval: Duration = .zero
    /// Updates of a name that may go out at priority 10 in an hour.
    public var budget = HighBudget()
    public var retries = RetryPolicy()
    public var pruneGuard = PruneGuard()
    /// The time from a name's `end` to the deletion of its broadcast channel.
    public var broadcastChannelLife: Duration = .seconds(3_600)
    /// A start token that was last reported longer ago counts as stale. Airship's SDK reports its start token again
    /// when the app is opened after this time.
    public var startTokensStaleAfter: Duration = .seconds(48 * 3_600)
    /// The age at which an app's cards are ended automatically. Absent: only a published `end` ends them.
    public var endAfter: [AppKey: Duration] = [:]
    /// The caps of the delivery rate. Absent: the app has none.
    public var rates: [AppKey: DeliveryRate] = [:]
    /// How many pushes of an app are kept, about. 0 = no limit.
    public var mostPushes = 0

    /// How long a page of starts may wait after the worker read who follows and whether the name is closed. Later ones
    /// are read again. So apart from requests on the wire, no start goes out later than this after an `end`.
    package var startHold: Duration = .seconds(10)
    /// The clock of leases, circuits and queued entries, in milliseconds. Tests move one of their own.
    package var now: @Sendable () -> Int64 = bootClock

    public init(name: String = "worker") { self.name = name }
}
