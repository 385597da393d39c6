import APNsClient
import APNsWire
import LiveActivity
import Store

/// What a page's outcomes mean: one decision per token, made without clock, Redis or socket. Where the tokens came from
/// decides how the decision is written down (`Settlement+pages.swift`).
struct PageReport {
    enum Decision: Hashable {
        case delivered
        case failed
        case expired
        case dead(Prune)
        /// Try again at `due` (epoch ms), after `attempts` in all.
        case retry(due: Int64, attempts: Int)
    }

    struct Exception {
        var index: Int
        var decision: Decision
        /// As `errors` counts it.
        var reason: String
        /// It is tried again though it may have arrived.
        var mayBeDuplicate = false
        /// Of a failed one: it is kept, should an operator want it tried again. What was to be tried only once is not.
        var isGivenUp = false
    }

    /// Every entry that is not delivered, by index, with the answer's name.
    private(set) var exceptions: [Exception] = []
    private(set) var delivered = 0
    private(set) var retries = 0
    private(set) var duplicatesPossible = 0
    private(set) var errors: [String: Int] = [:]
    /// Stop the push early, for this reason.
    private(set) var stop: String?
    /// Halt the app: its credentials do not work, or its server cannot be reached.
    private(set) var halt: Halt?
    /// What the answers say about tokens.
    private(set) var answers = AnswerCounts()
    /// The app's other environment refuses what the first takes: the reason. The app goes on.
    private(set) var otherRefusal: String?
    /// Not one request of the page left this machine, or APNs refused the credentials of all: nothing needs to be settled,
    /// the page can be read again.
    private(set) var isUnsent = false

    /// - Parameters:
    ///   - now: epoch ms
    ///   - deadline: epoch ms after which no token is tried
    ///   - rest: how long the app rests after a halting answer
    ///   - elsewhere: entries whose outcome is that of the app's other environment. What it says of credentials, the topic
    ///     or the way to it is about it alone: it halts nothing and stops nothing, its tokens are tried again.
    ///   - attributesType: of a start: what its tokens are registered under
    init(
        _ page: TokenPage, _ outcome: PageOutcome, now: Int64, deadline: Int64, triesOnce: Bool, backoff: Backoff,
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
                guard let due = Backoff.due(after: delay, retryAfter: retryAfter, now: now, deadline: deadline) else {
                    return .expired
                }
                return .retry(due: due, attempts: min(attempts, Backoff.mostCounted))
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
                // Without a timestamp the answer speaks of now.
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
                answers += prune.isDisputable ? AnswerCounts(answers: 1, dead: 1) : AnswerCounts(answers: 1, gone: 1)
            }
            exceptions.append(
                Exception(
                    index: exception.index, decision: decision, reason: reason, mayBeDuplicate: mayBeDuplicate,
                    isGivenUp: decision == .failed && !triesOnce))
        }
        answers += AnswerCounts(answers: delivered)
        isUnsent = unsent > 0 && unsent == page.count
        // One connection of several failed: its tokens wait, the app goes on.
        if isAnswered, halt?.cause == .unreachable { halt = nil }
    }
}

/// Why an app's sends rest for a while: what it has to send is kept.
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
    /// A 400: about this environment, this topic, this key. A 410 is about the token alone, and so is the end of an activity.
    var isDisputable: Bool { deadSince == nil && !hasEnded }
}
