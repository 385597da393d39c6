import Delivery
import Store

/// Why an app's circuit opens: APNs refuses its credentials, or cannot be reached.
struct Halt: Hashable, Sendable {
    enum Cause: String, Sendable, CaseIterable {
        case credentials, unreachable

        var alarm: Alarm.Kind { self == .credentials ? .credentials : .unreachable }
    }
    var cause: Cause
    var reason: String

    /// The outcome of each token that was not sent because of this halt.
    var outcome: PushOutcome {
        switch cause {
        case .credentials: .rejected(Rejection(status: 403, reason: reason, verdict: .haltApp))
        case .unreachable:
            .unanswered(NoAnswer(NoAnswer.Cause(rawValue: reason) ?? .connectionFailed, mayHaveBeenDelivered: false))
        }
    }
}
