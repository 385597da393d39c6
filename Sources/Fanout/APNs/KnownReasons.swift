import APNsWire
import Delivery

/// The reasons under which the worker counts answers.
enum KnownReasons {
    /// Apple's, and our own for requests without an answer.
    static let all = Set(RejectionReason.Known.allCases.map(\.rawValue) + NoAnswer.Cause.allCases.map(\.rawValue))
}
