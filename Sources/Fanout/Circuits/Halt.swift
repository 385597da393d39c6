import Delivery
import Store

/// Why the circuit of an app on a platform opens: the platform refuses its credentials, cannot be reached, or wants a
/// pause.
struct Halt: Hashable, Sendable {
    enum Cause: String, Sendable, CaseIterable {
        case credentials, unreachable, busy

        /// Nil: the platform says when it takes requests again, so there is nothing for an operator to do.
        var alarm: Alarm.Kind? {
            switch self {
            case .credentials: .credentials
            case .unreachable: .unreachable
            case .busy: nil
            }
        }
        var logText: String { alarm?.logText ?? "the platform wants a pause; the app's work for it waits" }
    }
    var cause: Cause
    var reason: String
    /// Seconds of the pause that a busy platform wants.
    var retryAfter: Int?

    /// The outcome of each token that was not sent because of this halt.
    var outcome: PushOutcome {
        switch cause {
        case .credentials: Rejection(status: 403, reason: reason, verdict: .haltApp).unsent
        case .unreachable:
            .unanswered(NoAnswer(NoAnswer.Cause(rawValue: reason) ?? .connectionFailed, mayHaveBeenDelivered: false))
        case .busy:
            Rejection(status: 429, reason: reason, verdict: .pauseApp, retryAfter: retryAfter).unsent
        }
    }
}
