public import APNsWire
public import LiveActivity

/// Sends pages of tokens to one app's APNs endpoint. There are two implementations: with libcurl's multi interface and
/// with libnghttp2. The layers above (deadlines by page, verdicts, retries between pages) are the same for both.
public protocol PushTransport: Sendable {
    /// Sends one request for each entry of the page, all with the push's headers and payload. It returns when each
    /// entry has an outcome. It never throws, because a missing answer is an outcome as well.
    ///
    /// The transport itself repeats requests where that is safe at once: after a GOAWAY that left them unprocessed, or
    /// with a new provider token. After an answer about the credentials or the push as a whole (verdicts `haltApp` and
    /// `stopPush`), the page's unsent entries get that answer too.
    ///
    /// - Parameter permission: asked before each request or repetition leaves this process. Once it ends, unsent
    ///   entries come back as cancelled. So a process that was suspended does not send what other workers have claimed.
    func send(_ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission) async -> PageOutcome
    /// How many tokens are queued or in flight.
    var load: Int { get }
    /// Its lanes, those whose connection has answered, and how many requests have no answer yet.
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
    /// A transport without lanes has its whole load in flight.
    public var lanes: LaneCounts { LaneCounts(inFlight: load) }

    public func send(_ page: TokenPage, _ push: PreparedPush) async -> PageOutcome {
        await send(page, push, while: StandingPermission())
    }
}
