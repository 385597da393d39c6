/// There is no complete answer.
public struct HTTPFailure: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        case transfer(TransferFault)
        /// The server answered, but not in HTTP/2.
        case http2Unavailable
        case cancelled
        case other
    }
    public var kind: Kind
    /// The request, libcurl's error text and its code.
    public var description: String

    public init(kind: Kind, description: String) {
        self.kind = kind
        self.description = description
    }
}
