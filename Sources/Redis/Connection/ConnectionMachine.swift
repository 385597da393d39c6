internal import Threads

/// The encoded commands of one caller, and what their replies resume: a continuation, or a number in a test.
struct Batch<Caller: Sendable>: Sendable {
    let bytes: [UInt8]
    let replies: Int
    /// The longest time for which the server may wait before it replies (XREADGROUP … BLOCK).
    var blocking: Duration = .zero
    let caller: Caller
    /// A connection broke before any byte of the batch was written. A batch moves to a new connection only once.
    var isCarriedOver = false
}

/// The life of one connection as a value. It has no socket, no clock and no continuation: `ConnectionThread` tells it
/// each event, and does what `next` says.
///
///               batches wait               connected
///     idle ───────────────────▶ connecting ─────────▶ connected ⟲ write, answered, progressed
///      ▲                         ▲      │ failed: all waiting batches get `unreachable`
///      │         the pause is over│      ▼
///      │                         retrying
///      └──────────────────────────────────────────────── broke: written batches get `lost`, the others wait again
///
/// `end` leads from each phase to `ended`. A link also breaks when a `ServerWatch` objects to its server, when the
/// server calls itself a replica, when a reply is late, and when one comes that nobody asked for.
struct ConnectionMachine<Caller: Sendable> {
    enum Phase: Hashable { case idle, connecting, retrying, connected, ended }
    /// The next thing that the thread does.
    enum Action: Hashable {
        /// Wait for callers, at most so long. Nil: without an end.
        case sleep(Duration?)
        case connect
        /// Write, wait for the server and for callers until `deadline`, and read.
        case exchange
        case end
    }
    /// A batch that is over, and the error that its caller gets.
    typealias Refusal = (batch: Batch<Caller>, error: RedisError)

    private struct InFlight {
        var batch: Batch<Caller>
        /// The offset of its first byte in the link's stream.
        var start: Int
    }

    private(set) var phase = Phase.idle
    private let url: String
    private let commandTimeout: Duration
    private let sharesTurns: Bool
    private var isClosing = false
    private var waiting: [Batch<Caller>] = []
    /// Oldest first, beginning at `head`.
    private var inFlight: [InFlight] = []
    private var head = 0
    /// The end of the link's stream.
    private var appended = 0
    private var backoff = ReconnectDelay()
    /// The time of the server's last reply, or the time at which the current reply became due.
    private var lastProgress = ContinuousClock.now

    /// - Parameters:
    ///   - url: the server's, for errors
    ///   - sharesTurns: whether batches wait while the server owes a reply (`RedisOptions.sharesTurns`)
    init(url: String, commandTimeout: Duration, sharesTurns: Bool = false) {
        (self.url, self.commandTimeout, self.sharesTurns) = (url, commandTimeout, sharesTurns)
    }

    /// How many batches wait for a reply of the server.
    var unanswered: Int { inFlight.count - head }

    /// The time until which the server must go on with the current reply. Nil: none is due.
    var deadline: ContinuousClock.Instant? {
        unanswered > 0 ? lastProgress + commandTimeout + inFlight[head].batch.blocking : nil
    }

    /// Callers have left batches, or the client closes.
    mutating func take(_ batches: [Batch<Caller>], isClosing: Bool = false) {
        if waiting.isEmpty { waiting = batches } else { waiting += batches }
        self.isClosing = isClosing
    }

    /// - Parameter now: monotonic milliseconds
    mutating func next(now: Int64) -> Action {
        if isClosing { return .end }
        if phase == .connected { return .exchange }
        if phase == .idle, waiting.isEmpty { return .sleep(nil) }
        if let pause = backoff.remaining(now: now) { return .sleep(pause) }
        phase = .connecting
        return .connect
    }

    /// - Parameter offset: how many bytes the greeting has put into the link's stream
    /// - Returns: whether earlier attempts had failed
    mutating func connected(at offset: Int) -> Bool {
        defer { backoff.succeeded() }
        (phase, appended) = (.connected, offset)
        return backoff.failures > 0
    }

    /// No link could be made, so nobody waits any longer. The thread tries again after a pause, also without callers.
    /// - Parameter fraction: random, for the pause
    /// - Returns: also whether it is the first failure in a row
    mutating func failed(
        _ failure: LinkFailure, now: Int64, fraction: Double
    ) -> (refusals: [Refusal], isFirst: Bool) {
        let isFirst = backoff.failures == 0
        backoff.failed(now: now, fraction: fraction)
        phase = .retrying
        let error: RedisError =
            switch failure {
            case .refused(let refusal): refusal
            case .insecure(let why, let remedy): .insecure("\(url): \(why)", remedy: remedy)
            case .broken, .protocolViolation: .unreachable("\(url): \(failure.why)")
            }
        defer { waiting = [] }
        return (waiting.map { ($0, error) }, isFirst)
    }

    /// - Returns: the batches to append to the link's stream. `expecting`: how many replies come next, if none was due.
    mutating func write(now: ContinuousClock.Instant) -> (batches: [Batch<Caller>], expecting: Int?) {
        let wasDue = unanswered > 0
        if waiting.isEmpty || sharesTurns && wasDue { return ([], nil) }
        for batch in waiting {
            inFlight.append(InFlight(batch: batch, start: appended))
            appended += batch.bytes.count
        }
        defer { waiting = [] }
        return (waiting, wasDue ? nil : beginHead(now))
    }

    /// The server has answered a whole batch.
    /// - Returns: `expecting`: how many replies come next. Nil: none is due.
    mutating func answered(now: ContinuousClock.Instant) -> (batch: Batch<Caller>, expecting: Int?) {
        let batch = inFlight[head].batch
        head += 1
        return (batch, unanswered > 0 ? beginHead(now) : nil)
    }

    private mutating func beginHead(_ now: ContinuousClock.Instant) -> Int {
        lastProgress = now
        return inFlight[head].batch.replies
    }

    /// The thread has read all that has arrived.
    /// - Parameter hasProgress: a part of the current batch's replies has arrived
    mutating func read(hasProgress: Bool, now: ContinuousClock.Instant) {
        if hasProgress { lastProgress = now }
        if unanswered == 0 {
            inFlight.removeAll(keepingCapacity: inFlight.capacity < 1_024)
            head = 0
        } else if head > 512 {
            inFlight.removeFirst(head)
            head = 0
        }
    }

    /// Nothing has arrived.
    func waited(now: ContinuousClock.Instant) throws(LinkFailure) {
        guard let deadline, now >= deadline else { return }
        throw .broken("no reply within \(commandTimeout + inFlight[head].batch.blocking)")
    }

    /// The link cannot be used any more. A batch in flight is lost if a byte of it was written: the server may have
    /// executed it. Otherwise it waits for the next link, once.
    /// - Parameter written: how many bytes of the link's stream were written
    mutating func broke(_ failure: LinkFailure, written: Int) -> [Refusal] {
        phase = .idle
        var refusals: [Refusal] = []
        var carried: [Batch<Caller>] = []
        for (position, item) in inFlight[head...].enumerated() {
            if item.start < written {
                var error = RedisError.lost(failure.why)
                if position == 0, case .protocolViolation(let text) = failure { error = .unexpectedReply(text) }
                refusals.append((item.batch, error))
            } else if item.batch.isCarriedOver {
                refusals.append((item.batch, .unreachable("\(url): \(failure.why)")))
            } else {
                carried.append(item.batch)
                carried[carried.count - 1].isCarriedOver = true
            }
        }
        (inFlight, head, waiting) = ([], 0, carried + waiting)
        return refusals
    }

    /// The client closes.
    mutating func end(written: Int) -> [Refusal] {
        phase = .ended
        defer { (inFlight, head, waiting) = ([], 0, []) }
        return inFlight[head...].map { ($0.batch, $0.start < written ? .lost("the client was closed") : .closed) }
            + waiting.map { ($0, .closed) }
    }
}
