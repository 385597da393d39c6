public import LiveActivity

/// Sends pages of tokens to one platform, for one app. The layers above (deadlines by page, verdicts, retries between
/// pages, circuits, ledgers) know nothing of the platform: docs/adr/0047-platforms.md.
public protocol PushTransport: Sendable {
    /// Sends one request for each entry of the page, as the push says. It returns when each
    /// entry has an outcome. It never throws, because a missing answer is an outcome as well.
    ///
    /// The transport itself repeats requests where that is safe at once: after a GOAWAY that left them unprocessed, or
    /// with a new credential. After an answer about the credentials, the app or the push as a whole (verdicts
    /// `haltApp`, `pauseApp` and `stopPush`), the page's unsent entries get that answer too. It says then that nothing
    /// was sent, unless the push stops.
    ///
    /// - Parameters:
    ///   - permission: asked before each request or repetition leaves this process. Once it ends, unsent entries come
    ///     back as cancelled. So a process that was suspended does not send what other workers have claimed.
    ///   - handover: the sender takes the page back before each request has its answer. The transport never repeats an
    ///     open request: one that comes back unsent is cancelled. Nil: the page waits for all answers.
    func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome
    /// The longest time from the moment when a request is open to its answer.
    var requestTimeout: Duration { get }
    /// How many lanes it has, how many of their connections have answered, and how many requests have no answer yet.
    var lanes: LaneCounts { get }
    /// Waits for requests in flight, within each request's deadline. Further pages come back as cancelled.
    func close() async
}

public struct LaneCounts: Sendable, Hashable {
    public var total = 0
    public var connected = 0
    public var inFlight = 0

    public init(total: Int = 0, connected: Int = 0, inFlight: Int = 0) {
        (self.total, self.connected, self.inFlight) = (total, connected, inFlight)
    }
}

extension PushTransport {
    /// A transport without lanes.
    public var lanes: LaneCounts { LaneCounts() }

    public func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission = AlwaysPermitted()
    ) async -> PageOutcome {
        await send(page, push, while: permission, nil)
    }
}

/// Says whether a sender may still begin requests. A lane's thread asks before each, so it must be cheap and not block.
public protocol SendPermission: Sendable {
    var holds: Bool { get }
    /// How long entries may wait for a turn in the platform's pace. Entries with a later turn come back as paced. Nil:
    /// as long as it takes.
    var patience: Duration? { get }
}

extension SendPermission { public var patience: Duration? { nil } }

/// For senders that share their work with no other process.
public struct AlwaysPermitted: SendPermission {
    public init() {}
    public var holds: Bool { true }
}

/// Lets a transport return a page before each request has its answer (docs/adr/0035-open-requests.md).
public struct Handover: Sendable {
    /// A page is nearly done when at most one of so many entries is left.
    static let nearlyDoneShare = 16

    /// Called once, from any thread, when the page is nearly done. The sender may begin another page then.
    public var nearlyDone: (@Sendable () -> Void)?

    public init(nearlyDone: (@Sendable () -> Void)? = nil) { self.nearlyDone = nearlyDone }
}
