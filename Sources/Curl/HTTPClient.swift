internal import Threads

/// One plain HTTP request through libcurl's easy interface, for the command line, `doctor` and Apple's management API.
/// It is never used for pushes.
public struct HTTPRequest: Sendable {
    public var method: String
    /// `http://` or `https://`. Redirects are not followed. No proxy is used, whatever the environment says.
    public var url: String
    public var headers: [(String, String)]
    public var body: HTTPBody?
    /// PEM file of the root certificates for `https`; nil: the system's.
    public var caFile: String?
    /// The time for the whole exchange, including the upload.
    public var timeout: Duration
    /// HTTP/2 only (through ALPN), as APNs requires.
    public var requiresHTTP2 = false

    public init(
        _ method: String, _ url: String, headers: [(String, String)] = [], body: HTTPBody? = nil,
        caFile: String? = nil, timeout: Duration = .seconds(30)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.caFile = caFile
        self.timeout = timeout
    }
}

public enum HTTPBody: Sendable {
    case bytes([UInt8])
    /// A streamed upload of any length. The transfer's thread calls the closure until it returns an empty array. An
    /// error that it throws ends the exchange and appears in the failure.
    case stream(@Sendable () throws -> [UInt8])
}

public struct HTTPResponse: Sendable {
    public var status: Int
    /// Lowercase names, in the order of arrival.
    public var headers: [(String, String)]
    public var body: [UInt8]

    /// The first header with that lowercase name.
    public func header(_ name: String) -> String? { headers.first { $0.0 == name }?.1 }
}

/// There is no complete answer.
public struct HTTPFailure: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable {
        case unresolvable, refused, timeout
        /// The handshake failed, or the certificate is not trusted or belongs to another host.
        case tls
        /// The server answered, but not in HTTP/2.
        case http2Unavailable
        /// The task was cancelled.
        case cancelled
        case other
    }
    public var kind: Kind
    /// The request, libcurl's error text and its code.
    public var description: String
}

public struct HTTPClient: Sendable {
    public init() {}

    /// Runs the exchange on a thread of its own.
    /// - Throws: also when the answer's body is longer than `maximumBody` bytes
    public func send(
        _ request: HTTPRequest, maximumBody: Int = 16 << 20
    ) async throws(HTTPFailure) -> HTTPResponse {
        let exchange = HTTPExchange(request, maximumBody: maximumBody)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>) in
                let started = NamedThread.start("lamp-http") { continuation.resume(returning: exchange.run()) }
                if !started {
                    continuation.resume(
                        returning: .failure(HTTPFailure(kind: .other, description: "no thread could be started")))
                }
            }
        } onCancel: {
            exchange.cancel()
        }
        return try result.get()
    }
}
