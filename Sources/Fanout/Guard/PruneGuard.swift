public import Store

/// Decides whether to believe APNs about dead tokens. With a wrong key, topic or environment APNs calls every token
/// dead, and a sender that believes it destroys its own registry. This is a value, without clock or I/O.
public struct PruneGuard: Sendable, Hashable {
    /// The share of answers from which on 400-class dead tokens are unusually many. 0 < share ≤ 1.
    public var share = 0.5
    /// The guard ignores counts of fewer answers than this, because they prove nothing.
    public var answers = 200
    /// The time over which an app's answers are counted, in whole minutes.
    public var window = Duration.seconds(600)
    /// The time over which the guard counts an app's last `answers` answers if the window has fewer. It finds tokens
    /// that are called wrong slowly, a few a minute.
    public var memory = Duration.seconds(86_400)

    var span: TokenVerdictSpan { TokenVerdictSpan(window: windowMinutes, memory: minutes(memory), least: answers) }
    var windowMinutes: Int { minutes(window) }
    private func minutes(_ time: Duration) -> Int { Int((time.components.seconds + 59) / 60) }

    /// The decision about tokens that APNs calls dead.
    public struct Verdict: Sendable, Hashable {
        /// Why 400-class dead tokens are quarantined instead of pruned. Nil: they are pruned.
        public var quarantine: String?
        /// Why there is an alarm about 410s. Their tokens are pruned all the same.
        public var manyUnregistered: String?
    }

    /// Decides about dead tokens.
    /// - Parameters:
    ///   - push: the answers to the push so far
    ///   - app: the answers to its app over the window
    ///   - lately: the last answers to its app, over `memory`
    public func verdict(
        push: TokenVerdictCounts, app: TokenVerdictCounts, lately: TokenVerdictCounts = TokenVerdictCounts()
    ) -> Verdict {
        var verdict = Verdict()
        let sources = [
            ("of a push", push), ("of this app in \(windowMinutes) min", app), ("of this app lately", lately),
        ]
        for (source, counts) in sources where counts.answers >= answers {
            func isUnusual(_ number: Int) -> Bool { number > 0 && Double(number) >= share * Double(counts.answers) }
            func text(_ what: String, _ number: Int) -> String {
                "\(number) of \(counts.answers) answers \(source) \(what)"
            }
            if isUnusual(counts.dead) {
                verdict.quarantine =
                    verdict.quarantine
                    ?? text("call the token wrong for this key, topic or environment (400)", counts.dead)
            }
            if isUnusual(counts.gone) {
                verdict.manyUnregistered = verdict.manyUnregistered ?? text("call the token dead (410)", counts.gone)
            }
        }
        return verdict
    }
}
