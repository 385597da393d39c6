internal import Threads

public struct HTTPClient: Sendable {
    public init() {}

    /// Runs the exchange on a thread of its own.
    /// - Throws: also when the answer's body is longer than `maximumBody` bytes
    public func send(_ request: HTTPRequest, maximumBody: Int = 16 << 20) async throws(HTTPFailure) -> HTTPResponse {
        let exchange = HTTPExchange(request, maximumBody: maximumBody)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>) in
                let started = NamedThread.start("lamp-http") { continuation.resume(returning: exchange.run()) }
                if started { return }
                let failure = HTTPFailure(kind: .other, description: "no thread could be started")
                continuation.resume(returning: .failure(failure))
            }
        } onCancel: {
            exchange.cancel()
        }
        return try result.get()
    }
}

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

public struct HTTPResponse: Sendable {
    public var status: Int
    /// Lowercase names, in the order of arrival.
    public var headers: [(String, String)]
    public var body: [UInt8]

    /// The first header with that lowercase name.
    public func header(_ name: String) -> String? { headers.first { $0.0 == name }?.1 }
}
