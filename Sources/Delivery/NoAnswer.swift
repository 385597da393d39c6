/// Why there is no answer, and whether the platform may have acted on the request anyway.
public struct NoAnswer: Sendable, Hashable {
    public enum Cause: String, Sendable, Hashable, CaseIterable {
        case timeout = "Timeout"
        case connectionFailed = "ConnectionFailed"
        case connectionLost = "ConnectionLost"
        case tls = "TLSFailure"
        /// The platform took no more bytes of the body, because its flow-control window stayed closed until the deadline.
        case windowClosed = "WindowClosed"
        case cancelled = "Cancelled"
    }
    public var cause: Cause
    /// True once the request may have left this machine and was not declared unprocessed by a GOAWAY.
    public var mayHaveBeenDelivered: Bool

    public init(_ cause: Cause, mayHaveBeenDelivered: Bool) {
        self.cause = cause
        self.mayHaveBeenDelivered = mayHaveBeenDelivered
    }
}
