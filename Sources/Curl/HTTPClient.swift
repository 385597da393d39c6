/// One plain HTTP request through libcurl's easy interface: for the command line, `doctor` and Apple's management API.
/// Never for pushes.
public struct HTTPRequest: Sendable {
    public var method: String
    /// `http://` or `https://`. Redirects are not followed, and no proxy is used, whatever the environment says.
    public var url: String
    public var headers: [(String, String)]
    public var body: HTTPBody?
    /// PEM of the roots that `https` is verified against; nil = the system's.
    public var caFile: String?
    /// Of the whole exchange, with the upload.
    public var timeout: Duration
    /// HTTP/2 only (through ALPN), as APNs wants.
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
    /// Called on the transfer's thread until it returns an empty array: a streamed upload of any length. What it throws
    /// ends the exchange, and is described in the failure.
    case stream(@Sendable () throws -> [UInt8])
}

public struct HTTPResponse: Sendable {
    public var status: Int
    /// Lowercase names, in the order of arrival.
    public var headers: [(String, String)]
    public var body: [UInt8]

    /// The first header of that lowercase name.
    public func header(_ name: String) -> String? { headers.first { $0.0 == name }?.1 }
}

/// There is no whole answer.
public struct HTTPFailure: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable {
        case unresolvable, refused, timeout
        /// The handshake, or a certificate that is not trusted or belongs to another host.
        case tls
        /// The server answered, but not in HTTP/2.
        case http2Unavailable
        /// The task was cancelled.
        case cancelled
        case other
    }
    public var kind: Kind
    /// What was tried, libcurl's words and its code.
    public var description: String
}

public struct HTTPClient: Sendable {
    public init() {}

    /// Runs the exchange on a thread of its own. A body of more than `maximumBody` bytes is a failure.
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
