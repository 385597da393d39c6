import Delivery
import LiveActivity
import Logging
import Store

/// Turns the outcomes of a page into one decision per token, without clock, Redis or socket. `RejectionReason` gives
/// the verdict on an answer. `Settlement+pages.swift` makes a `Settlement` or a `RetrySettlement` of the decisions.
struct PageReport {
    /// The decision for a token that was not delivered.
    enum Decision: Hashable {
        case failed
        case expired
        /// The token is to be removed. `WorkerContext+removals` does that after the page is settled.
        case dead(TokenRemoval)
        /// Try again at `due` (epoch ms). `attempts` counts all attempts so far.
        case retry(due: Int64, attempts: Int)
    }

    struct Exception {
        var index: Int
        var decision: Decision
        /// The reason under which the ledger's `errors` count it; empty: it is not counted.
        var reason: String
        /// A request was made. Without one, what follows is no other attempt.
        var wasSent = true
        /// The entry is tried again although its push may have arrived.
        var mayBeDuplicate = false
        /// A failed entry is kept as a dead letter, which an operator can retry. A push that is tried once keeps none.
        var isGivenUp = false
    }

    /// Every entry that was not delivered, with the reason of APNs or of the missing answer.
    private(set) var exceptions: [Exception] = []
    private(set) var delivered = 0
    /// Indices of the entries whose requests are open. Their decisions come later.
    private(set) var open: [Int]
    private(set) var errors: [String: Int] = [:]
    /// The reason to stop the push early.
    private(set) var stop: String?
    /// The same by platform. A push for several stops early only if all of them give a reason.
    private(set) var refusals: [Platform: String] = [:]
    /// The reason to halt the app: APNs refuses its credentials, or its server cannot be reached.
    private(set) var halt: Halt?
    /// Counts of the answers for the prune guard.
    private(set) var verdicts = TokenVerdictCounts()
    /// The reason for which the app's other environment refuses pushes. The app goes on in the first environment.
    private(set) var otherRefusal: String?
    /// True if no request of the page left this machine, or if APNs refused the credentials of all requests. Then there
    /// is nothing to settle, and the page can be read again.
    private(set) var isUnsent = false
    /// Entries whose requests APNs has not seen, or refused for the credentials.
    private var unsent = 0
    /// APNs answered a request of the page.
    private var isAnswered = false

    /// - Parameters:
    ///   - platform: of the entries with outcomes
    ///   - page: its entries have the routes of their outcomes. If the app's other environment refuses the credentials
    ///     or the topic, or cannot be reached, the app and the push go on, and these tokens are tried again.
    ///   - now: epoch ms
    ///   - deadline: epoch ms after which no token is tried
    ///   - triesOnce: the push has no retries
    ///   - attributesType: for a start, the type under which its tokens are registered
    ///   - pause: gives the time for which the circuit stays open after a halting answer
    ///   - random: gives random numbers in 0 ..< 1 for the backoff
    init(
        _ page: TokenPage, _ outcome: PageOutcome, on platform: Platform = .ios, now: Int64, deadline: Int64,
        triesOnce: Bool, backoff: RetryPolicy, attributesType: String? = nil, pause: (Halt) -> Duration,
        random: () -> Double
    ) {
        open = outcome.open
        delivered = outcome.accepted
        isAnswered = delivered > 0
        for exception in outcome.exceptions where page.entries.indices.contains(exception.index) {
            let index = exception.index
            let attempt = Attempt(
                made: Int(page.entries[index].attempt), isElsewhere: page[route: index].contains(.elsewhere), now: now,
                deadline: deadline, triesOnce: triesOnce, backoff: backoff, fraction: random())
            switch exception.outcome {
            case .accepted:
                delivered += 1
                isAnswered = true
            case .unanswered(let noAnswer):
                let mayBeDuplicate = noAnswer.mayHaveBeenDelivered && !noAnswer.isUnreachable
                let decision = decide(noAnswer, attempt, pause)
                // A pace is no error of the platform.
                let reason = noAnswer.cause == .paced ? "" : noAnswer.cause.rawValue
                let wasSent = !noAnswer.isUnreachable && ![.cancelled, .paced].contains(noAnswer.cause)
                add(index, decision, reason, attempt, wasSent: wasSent, mayBeDuplicate: mayBeDuplicate)
            case .rejected(let rejection):
                if rejection.wasSent { isAnswered = true }
                let reason = rejection.reason
                let decision = decide(rejection, attempt, pause) { since in
                    TokenRemoval(
                        channel: Array(page.channel(index)), token: Array(page.token(index)), deadSince: since,
                        reason: reason, attributesType: page.entries[index].platform.startType(attributesType),
                        platform: page.entries[index].platform)
                }
                // A token that waits because of the answer to another request has no answer of its own.
                let isCounted = rejection.wasSent || decision == .failed
                add(index, decision, isCounted ? reason : "", attempt, wasSent: rejection.wasSent)
            }
        }
        refusals[platform] = stop
        verdicts += TokenVerdictCounts(answers: delivered)
        isUnsent = unsent > 0 && unsent == delivered + exceptions.count + open.count
        // APNs answered other requests, so only one connection of several failed. Its tokens wait, and the app goes on.
        if isAnswered, halt?.cause == .unreachable { halt = nil }
    }

    /// Entries that nothing was sent to, all for the same reason.
    /// - Parameter isGivenUp: they are kept as dead letters
    init(refused indices: [Int], _ reason: String, isGivenUp: Bool) {
        open = []
        exceptions = indices.map { Exception(index: $0, decision: .failed, reason: reason, isGivenUp: isGivenUp) }
        errors = [reason: indices.count]
    }

    /// Adds the decisions for entries of the same page that are on another platform.
    mutating func add(_ other: PageReport) {
        exceptions = (exceptions + other.exceptions).sorted { $0.index < $1.index }
        open = (open + other.open).sorted()
        delivered += other.delivered
        errors.merge(other.errors, uniquingKeysWith: +)
        (stop, halt) = (stop ?? other.stop, halt ?? other.halt)
        refusals.merge(other.refusals) { first, _ in first }
        isUnsent = isUnsent && other.isUnsent
    }

    /// Indices of the entries that got the push.
    func deliveredIndices(_ page: TokenPage) -> some Sequence<Int> {
        let others = Set(exceptions.map(\.index) + open)
        return page.entries.indices.lazy.filter { !others.contains($0) }
    }

    /// Indices of the entries whose address is dead and is kept with the channel.
    func deadAddresses(_ page: TokenPage) -> [Int] {
        exceptions.filter { exception in
            if case .dead = exception.decision { page.entries[exception.index].platform.hasOneAddress } else { false }
        }.map(\.index)
    }

    /// Takes a retry in place of the entry's decision. Another decision changes nothing.
    mutating func retry(_ index: Int, _ decision: Decision) {
        guard case .retry = decision, let place = exceptions.firstIndex(where: { $0.index == index }) else { return }
        exceptions[place].decision = decision
    }

    private mutating func add(
        _ index: Int, _ decision: Decision, _ reason: String, _ attempt: Attempt, wasSent: Bool = true,
        mayBeDuplicate: Bool = false
    ) {
        var exception = Exception(index: index, decision: decision, reason: reason, wasSent: wasSent)
        if !reason.isEmpty { errors[reason, default: 0] += 1 }
        switch decision {
        case .retry: exception.mayBeDuplicate = mayBeDuplicate
        case .dead(let removal) where removal.isDisputable: verdicts += TokenVerdictCounts(answers: 1, dead: 1)
        case .dead: verdicts += TokenVerdictCounts(answers: 1, gone: 1)
        case .failed: exception.isGivenUp = !attempt.triesOnce
        case .expired: break
        }
        exceptions.append(exception)
    }

    private mutating func decide(_ noAnswer: NoAnswer, _ attempt: Attempt, _ pause: (Halt) -> Duration) -> Decision {
        let reason = noAnswer.cause.rawValue
        guard noAnswer.isUnreachable else {
            return switch noAnswer.cause {
            case .cancelled: unsent(attempt, after: .zero)
            case .paced: attempt.again(after: .seconds(1 + attempt.fraction), isSpent: false)
            default: attempt.again(after: attempt.pause())
            }
        }
        if attempt.isElsewhere { return refusedElsewhere(reason, attempt, isSpent: false) }
        return halted(Halt(cause: .unreachable, reason: reason), attempt, pause)
    }

    private mutating func decide(
        _ rejection: Rejection, _ attempt: Attempt, _ pause: (Halt) -> Duration, removal: (Int64?) -> TokenRemoval
    ) -> Decision {
        let reason = rejection.reason
        switch rejection.verdict {
        case .pruneToken: return .dead(removal(nil))
        // An answer without a timestamp means that the token is dead now.
        case .pruneIfOlder: return .dead(removal(rejection.timestamp ?? attempt.now))
        case .failToken: return .failed
        case .pauseApp:
            return halted(Halt(cause: .busy, reason: reason, retryAfter: rejection.retryAfter), attempt, pause)
        case .retry, .retryOnFreshConnection, .useEarlierCredential:
            return attempt.again(after: attempt.pause(rejection.retryAfter), retryAfter: rejection.retryAfter)
        case .stopPush, .recreateTarget, .haltApp, .renewCredential:
            if attempt.isElsewhere { return refusedElsewhere(reason, attempt) }
            guard rejection.isAboutCredentials else {
                stop = stop ?? reason
                return .failed
            }
            return halted(Halt(cause: .credentials, reason: reason), attempt, pause)
        }
    }

    /// The app's other environment refuses all pushes or cannot be reached. The app goes on in the first one.
    private mutating func refusedElsewhere(_ reason: String, _ attempt: Attempt, isSpent: Bool = true) -> Decision {
        otherRefusal = otherRefusal ?? reason
        return attempt.again(after: attempt.pause(), isSpent: isSpent)
    }

    /// The app's circuit opens. The credentials are the more important reason.
    private mutating func halted(_ found: Halt, _ attempt: Attempt, _ pause: (Halt) -> Duration) -> Decision {
        if halt == nil || found.cause == .credentials { halt = found }
        return unsent(attempt, after: pause(found) * (1 + attempt.fraction))
    }

    private mutating func unsent(_ attempt: Attempt, after delay: Duration) -> Decision {
        unsent += 1
        return attempt.again(after: delay, isSpent: false)
    }
}

extension TokenRemoval {
    /// True for a 400, which concerns this environment, topic or key. A 410 or a delivered `end` concerns the token.
    var isDisputable: Bool { deadSince == nil && !hasEnded }
}

/// One attempt for a token or a broadcast, and what decides about the next one.
struct Attempt {
    /// Attempts before this one.
    var made: Int
    /// A token's attempt in the app's other environment.
    var isElsewhere = false
    /// Epoch milliseconds.
    var now: Int64
    /// Epoch milliseconds after which there is no attempt.
    var deadline: Int64
    /// The push has no retries.
    var triesOnce: Bool
    var backoff: RetryPolicy
    /// A random number in 0 ..< 1.
    var fraction: Double

    func pause(_ retryAfter: Int? = nil) -> Duration {
        backoff.delay(afterAttempts: made + 1, fraction: fraction, retryAfter: retryAfter)
    }

    /// - Parameter isSpent: false if APNs has not seen this attempt, so it does not count
    func again(after delay: Duration, isSpent: Bool = true, retryAfter: Int? = nil) -> PageReport.Decision {
        let attempts = isSpent ? made + 1 : made
        if isSpent, triesOnce || backoff.isSpent(after: attempts) { return .failed }
        guard let due = RetryPolicy.due(after: delay, retryAfter: retryAfter, now: now, deadline: deadline)
        else { return .expired }
        return .retry(due: due, attempts: min(attempts, RetryPolicy.mostCounted))
    }
}

/// Acts on answers of APNs, whether their page still waits for them or they come late.
extension WorkerContext {
    /// The decision for each token that was answered. Counts the verdicts for the prune guard.
    func report(_ part: PlatformOutcome, _ page: TokenPage, _ app: AppKey, _ record: PushRecord) -> PageReport {
        if let (indices, reason) = part.refusal {
            return PageReport(refused: indices, reason, isGivenUp: part.isStopped && record.expiry != 0)
        }
        let key = AppPlatform(app, part.platform)
        let report = PageReport(
            page, part.outcome, on: part.platform, now: store.time.now(), deadline: record.deadline,
            triesOnce: record.expiry == 0, backoff: options.retries,
            attributesType: record.event == .start ? record.attributesType ?? "" : nil,
            pause: { circuits.nextPause(key, $0) }, random: { Double.random(in: 0..<1) })
        verdictLog.note(key, report.verdicts, now: store.time.now())
        return report
    }

    /// Opens or closes the circuit of the app and its platform.
    /// - Returns: how long the circuit stays open, if it does
    func updateCircuit(_ key: AppPlatform, _ report: PageReport, _ log: Logger) async -> Duration? {
        if let refusal = report.otherRefusal { await raiseAlarm(key, .otherEnvironment, refusal) }
        if let halt = report.halt {
            if circuits.open(key, halt, now: now) {
                metrics.circuit(key, isOpen: true)
                log.error(
                    "\(halt.cause.logText)",
                    metadata: ["platform": "\(key.platform)", "reason": "\(halt.reason)"])
                if let alarm = halt.cause.alarm { try? await store.alarms.raise(key, alarm, halt.reason) }
            }
            return circuits.pause(of: key, now: now) ?? .zero
        }
        if report.delivered > 0, let halt = circuits.close(key) {
            metrics.circuit(key, isOpen: false)
            log.notice(
                "the platform accepts this app's pushes again",
                metadata: ["platform": "\(key.platform)", "reason": "\(halt.reason)"])
            // One halt may have followed the other, so a delivery clears both alarms.
            for alarm in Halt.Cause.allCases.compactMap(\.alarm) { try? await store.alarms.clear(key, alarm) }
        }
        return nil
    }

    /// Takes back the notes of channels that got no card from a start, because APNs refused their only attempt for
    /// good. If the worker dies before this, their notes stay for 8 h without effect.
    /// - Parameter before: the notes of earlier starts, by channel
    func removeNotes(
        _ app: AppKey, _ name: ActivityName, _ page: TokenPage, _ outcome: PageOutcome, _ report: PageReport,
        before: [[UInt8]: [UInt8]]
    ) async throws(StoreError) {
        let answered = Set(
            outcome.exceptions.filter { if case .rejected = $0.outcome { true } else { false } }.map(\.index))
        let unreached = report.exceptions.filter { exception in
            if case .retry = exception.decision { return false }
            return page.entries[exception.index].attempt == 0 && answered.contains(exception.index)
        }
        if unreached.isEmpty { return }
        let channels = unreached.map { Array(page.channel($0.index)) }
        try await store.lateJoiners.expectNothing(app, name, channels.map { ($0, before[$0]) })
    }

    /// Keeps the exchanges of a traced token.
    func keep(
        _ trace: ExchangeRecorder, attempt: Int, _ app: AppKey, _ name: ActivityName, _ record: PushRecord
    ) async throws(StoreError) {
        let exchanges = trace.exchanges.map { $0.json(attempt: attempt) }
        // Nothing left this machine.
        if exchanges.isEmpty { return }
        try await store.traces.add(app, name, record.id, exchanges)
    }
}
