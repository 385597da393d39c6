import APNsClient
import APNsWire
import LiveActivity
import Store

/// Turns the outcomes of a page into one decision per token, without clock, Redis or socket. `Settlement+pages.swift`
/// writes the decisions down, in a way that depends on where the tokens came from.
struct PageReport {
    enum Decision: Hashable {
        case delivered
        case failed
        case expired
        case dead(Prune)
        /// Try again at `due` (epoch ms). `attempts` counts all attempts so far.
        case retry(due: Int64, attempts: Int)
    }

    struct Exception {
        var index: Int
        var decision: Decision
        /// The reason under which the ledger's `errors` count it.
        var reason: String
        /// The entry is tried again although its push may have arrived.
        var mayBeDuplicate = false
        /// A failed entry that is kept as a dead letter, so that an operator can retry it. A push that is tried only
        /// once keeps none.
        var isGivenUp = false
    }

    /// Every entry that was not delivered, with the reason in APNs's answer.
    private(set) var exceptions: [Exception] = []
    private(set) var delivered = 0
    private(set) var retries = 0
    private(set) var duplicatesPossible = 0
    private(set) var errors: [String: Int] = [:]
    /// The reason to stop the push early.
    private(set) var stop: String?
    /// The reason to halt the app: APNs refuses its credentials, or its server cannot be reached.
    private(set) var halt: Halt?
    /// Counts of the answers for the prune guard.
    private(set) var answers = TokenVerdictCounts()
    /// The reason for which the app's other environment refuses pushes. The app goes on in the first environment.
    private(set) var otherRefusal: String?
    /// True if no request of the page left this machine, or if APNs refused the credentials of all requests. Then there
    /// is nothing to settle, and the page can be read again.
    private(set) var isUnsent = false

    /// - Parameters:
    ///   - now: epoch ms
    ///   - deadline: epoch ms after which no token is tried
    ///   - triesOnce: the push has no retries
    ///   - elsewhere: indices of entries whose outcome came from the app's other environment. If it refuses the
    ///     credentials or the topic, or cannot be reached, the app and the push go on. These tokens are tried again.
    ///   - attributesType: for a start, the type under which its tokens are registered
    ///   - rest: gives the time for which the app rests after a halting answer
    ///   - random: gives random numbers in 0 ..< 1 for the backoff
    init(
        _ page: TokenPage, _ outcome: PageOutcome, now: Int64, deadline: Int64, triesOnce: Bool, backoff: RetryBackoff,
        elsewhere: Set<Int> = [], attributesType: String? = nil, rest: (Halt) -> Duration, random: () -> Double
    ) {
        delivered = outcome.accepted
        duplicatesPossible = outcome.duplicatesPossible
        var unsent = 0
        var isAnswered = outcome.accepted > 0
        for exception in outcome.exceptions where page.entries.indices.contains(exception.index) {
            let entry = page.entries[exception.index]
            let attempts = Int(entry.attempt) + 1
            let isElsewhere = elsewhere.contains(exception.index)
            func again(attempts: Int, after delay: Duration, retryAfter: Int? = nil) -> Decision {
                let isSpent = attempts > Int(entry.attempt)
                if isSpent, triesOnce || backoff.attempts.map({ attempts >= $0 }) ?? false { return .failed }
                guard let due = RetryBackoff.due(after: delay, retryAfter: retryAfter, now: now, deadline: deadline)
                else {
                    return .expired
                }
                return .retry(due: due, attempts: min(attempts, RetryBackoff.mostCounted))
            }
            let decision: Decision
            var reason = ""
            var mayBeDuplicate = false
            switch exception.outcome {
            case .accepted:
                decision = .delivered
                delivered += 1
                isAnswered = true
            case .unanswered(let noAnswer):
                reason = noAnswer.cause.rawValue
                switch noAnswer.cause {
                case _ where noAnswer.isUnreachable && isElsewhere:
                    otherRefusal = otherRefusal ?? reason
                    decision = again(
                        attempts: attempts - 1, after: backoff.delay(afterAttempts: attempts, fraction: random()))
                case _ where noAnswer.isUnreachable:
                    unsent += 1
                    let unreachable = Halt(cause: .unreachable, reason: noAnswer.cause.rawValue)
                    halt = halt ?? unreachable
                    decision = again(attempts: attempts - 1, after: rest(unreachable) * (1 + random()))
                case .cancelled:
                    unsent += 1
                    decision = again(attempts: attempts - 1, after: .zero)
                case .timeout, .connectionLost, .connectionFailed, .tls:
                    decision = again(
                        attempts: attempts, after: backoff.delay(afterAttempts: attempts, fraction: random()))
                    if case .retry = decision, noAnswer.mayHaveBeenDelivered { mayBeDuplicate = true }
                }
            case .rejected(let rejection):
                isAnswered = true
                reason = rejection.reason.wire
                func prune(_ since: Int64?) -> Decision {
                    .dead(
                        Prune(
                            channel: Array(page.channel(exception.index)), token: Array(page.token(exception.index)),
                            deadSince: since, reason: rejection.reason.wire, attributesType: attributesType))
                }
                switch rejection.verdict {
                case .stopPush where isElsewhere, .recreateChannel where isElsewhere, .haltApp where isElsewhere,
                    .renewProviderToken where isElsewhere:
                    otherRefusal = otherRefusal ?? reason
                    decision = again(
                        attempts: attempts, after: backoff.delay(afterAttempts: attempts, fraction: random()))
                case .pruneToken: decision = prune(nil)
                // An answer without a timestamp means that the token is dead now.
                case .pruneIfOlder: decision = prune(rejection.timestamp ?? now)
                case .stopPush, .recreateChannel:
                    stop = stop ?? rejection.reason.wire
                    decision = .failed
                case .haltApp, .renewProviderToken:
                    unsent += 1
                    let refused = Halt(cause: .credentials, reason: rejection.reason.wire)
                    halt = refused
                    decision = again(attempts: attempts - 1, after: rest(refused) * (1 + random()))
                case .retry, .retryOnFreshConnection:
                    decision = again(
                        attempts: attempts,
                        after: backoff.delay(
                            afterAttempts: attempts, fraction: random(), retryAfter: rejection.retryAfter),
                        retryAfter: rejection.retryAfter)
                }
            }
            if decision == .delivered { continue }
            errors[reason, default: 0] += 1
            if case .retry = decision { retries += 1 }
            if mayBeDuplicate { duplicatesPossible += 1 }
            if case .dead(let prune) = decision {
                answers +=
                    prune.isDisputable
                    ? TokenVerdictCounts(answers: 1, dead: 1) : TokenVerdictCounts(answers: 1, gone: 1)
            }
            exceptions.append(
                Exception(
                    index: exception.index, decision: decision, reason: reason, mayBeDuplicate: mayBeDuplicate,
                    isGivenUp: decision == .failed && !triesOnce))
        }
        answers += TokenVerdictCounts(answers: delivered)
        isUnsent = unsent > 0 && unsent == page.count
        // APNs answered other requests, so only one connection of several failed. Its tokens wait, and the app goes on.
        if isAnswered, halt?.cause == .unreachable { halt = nil }
    }
}

/// The reason for which an app's sends rest for a while. The worker keeps the app's work meanwhile.
struct Halt: Hashable, Sendable {
    enum Cause: String, Sendable, CaseIterable {
        case credentials, unreachable

        var alarm: Alarm.Kind {
            switch self {
            case .credentials: .credentials
            case .unreachable: .unreachable
            }
        }
    }
    var cause: Cause
    var reason: String

    var alarmText: String { cause.alarm.alarmText }
}

extension Prune {
    /// True for a 400, which concerns this environment, topic or key. A 410 concerns the token alone, and so does a
    /// delivered `end`.
    var isDisputable: Bool { deadSince == nil && !hasEnded }
}
