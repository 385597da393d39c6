public import APNsWire
public import LiveActivity

/// Sends pages of tokens to one app's APNs endpoint. Two real implementations stand behind it: libcurl's multi
/// interface and libnghttp2; everything above (deadlines by page, verdicts, retries between pages) is the same.
public protocol PushTransport: Sendable {
    /// One request per entry of the page, all with the push's headers and payload; returns when each has an outcome.
    /// What is safe to repeat at once inside the transport (unprocessed after a GOAWAY, a provider token that expired)
    /// has been repeated. After an answer that speaks of the credentials or the push as a whole (verdicts `haltApp` and
    /// `stopPush`), the entries of the page that have not been sent get that answer too. Never throws: no answer is an
    /// outcome as well.
    ///
    /// `permission` is asked before each request leaves this process, a repetition inside the transport included. Once it is
    /// gone, what has not left comes back as cancelled: a process that was suspended in the middle of a page must not go
    /// on with it when others have taken its work over.
    func send(_ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission) async -> PageOutcome
    /// How many tokens are queued or in flight.
    var load: Int { get }
    /// Waits for what is in flight, within each request's deadline; further pages come back as cancelled.
    func close() async
}

/// Whether a sender may still begin requests. Asked on the lanes' threads, once a request: it must be cheap, and block nobody.
public protocol SendPermission: Sendable {
    var holds: Bool { get }
}

/// For senders that share their work with nobody.
public struct StandingPermission: SendPermission {
    public init() {}
    public var holds: Bool { true }
}

extension PushTransport {
    public func send(_ page: TokenPage, _ push: PreparedPush) async -> PageOutcome {
        await send(page, push, while: StandingPermission())
    }
}

/// The answers of a page: what is rare is listed, what is common is counted.
public struct PageOutcome: Sendable, Hashable {
    public struct Exception: Sendable, Hashable {
        /// Index of the entry in the page.
        public var index: Int
        public var outcome: PushOutcome

        public init(index: Int, outcome: PushOutcome) {
            self.index = index
            self.outcome = outcome
        }
    }

    public var accepted: Int
    /// Everything but 200, by ascending index; never `.accepted`.
    public var exceptions: [Exception]
    /// Requests that were sent again inside the transport though their first fate is unknown.
    public var duplicatesPossible: Int

    public init(accepted: Int = 0, exceptions: [Exception] = [], duplicatesPossible: Int = 0) {
        self.accepted = accepted
        self.exceptions = exceptions
        self.duplicatesPossible = duplicatesPossible
    }

    /// The same outcome, other than `.accepted`, for every entry of a page.
    public init(all page: TokenPage, _ outcome: PushOutcome) {
        self.init(exceptions: page.entries.indices.map { Exception(index: $0, outcome: outcome) })
    }
}
