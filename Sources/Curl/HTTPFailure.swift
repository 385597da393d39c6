/// There is no complete answer.
public struct HTTPFailure: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        case transfer(TransferFault)
        /// The server answered, but not in HTTP/2.
        case http2Unavailable
        /// The name leads to this address, to which the request must not go.
        case privateAddress(PeerAddress)
        case cancelled
        case other
    }
    public var kind: Kind
    /// libcurl's error text and its code.
    public var reason: String
    /// The request and the reason.
    public var description: String

    public init(kind: Kind, description: String, reason: String? = nil) {
        self.kind = kind
        self.description = description
        self.reason = reason ?? description
    }
}
