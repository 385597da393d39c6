public import APNsClient
public import LiveActivity
public import Store

/// One app as a worker serves it.
public struct WorkerApp: Sendable {
    public var key: AppKey
    public var bundleID: String
    public var transport: any PushTransport
    /// Of an app for both APNs environments: where tokens are tried that the first does not know.
    public var otherTransport: (any PushTransport)?
    /// Nil: this worker makes no broadcast channels for the app and sends to none.
    public var broadcasts: BroadcastService?
    /// So long after their start its cards are ended; nil: only when somebody publishes an end.
    public var endAfter: Duration?

    public init(
        key: AppKey, bundleID: String, transport: any PushTransport, otherTransport: (any PushTransport)? = nil,
        broadcasts: BroadcastService? = nil, endAfter: Duration? = nil
    ) {
        self.key = key
        self.bundleID = bundleID
        self.transport = transport
        self.otherTransport = otherTransport
        self.broadcasts = broadcasts
        self.endAfter = endAfter
    }

    var environments: Environments { Environments(first: transport, other: otherTransport) }
}

public struct WorkerOptions: Sendable {
    /// Shown by `status`; a random part is added, so that two workers never pass for one.
    public var name: String
    /// Tokens to a page.
    public var pageSize = 1_000
    /// Pages of one shard that are open at once.
    public var openPages = 4
    /// Small pushes in hand at once; a quarter of that again for priority 5.
    public var concurrency = 48
    /// How long a lease holds and an entry may lie untouched before another worker takes it over.
    public var claimAfter: Duration = .seconds(10)
    /// Owners of a part that may die or fall asleep over it in a row, without progress, before it is given up.
    public var maxClaims = 8
    public var drainTimeout: Duration = .seconds(25)
    /// Least time between two alert-free updates of a name that newer ones may replace; 0 = off.
    public var minInterval: Duration = .zero
    /// Updates of a name that may go out at priority 10 in an hour.
    public var budget = HighBudget()
    public var backoff = Backoff.ofPushes
    public var pruneGuard = PruneGuard()
    /// From a name's end to the deletion of its broadcast channel.
    public var channelLife: Duration = .seconds(3_600)
    /// A start token that was last reported longer ago counts as stale: Airship's SDK reports its own again when the app is
    /// opened after this long.
    public var startTokensStaleAfter: Duration = .seconds(48 * 3_600)

    /// Starts of a page that have not left so long after it was looked up who follows, and whether the name has ended, are looked
    /// at again. Beyond this and what is on the wire, no start goes out after the name's `end`.
    package var startHold: Duration = .seconds(10)

    public init(name: String = "worker") { self.name = name }
}
