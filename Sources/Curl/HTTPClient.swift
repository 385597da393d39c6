/// SKELETON. One plain HTTP exchange through libcurl's easy interface, on a thread of its own: for the command line, `doctor`
/// and Apple's management API. Never for pushes.
public struct HTTPRequest: Sendable {
    public var method: String
    public var url: String
    public var headers: [(String, String)]
    public var body: HTTPBody?
    /// `http://…` through a unix socket is not offered; `https` is verified against `caFile` or the system's roots.
    public var caFile: String?
    public var timeout: Duration
    /// HTTP/2 only (prior knowledge through ALPN), as APNs wants.
    public var requiresHTTP2 = false
    public init(_ method: String, _ url: String, headers: [(String, String)] = [], body: HTTPBody? = nil, caFile: String? = nil, timeout: Duration = .seconds(30)) {
        self.method = method; self.url = url; self.headers = headers; self.body = body; self.caFile = caFile; self.timeout = timeout
    }
}

public enum HTTPBody: Sendable {
    case bytes([UInt8])
    /// Called on the transfer's thread until it returns an empty array: a streamed upload of any length.
    case stream(@Sendable () throws -> [UInt8])
}

public struct HTTPResponse: Sendable {
    public var status: Int
    /// Lowercase names.
    public var headers: [(String, String)]
    public var body: [UInt8]
}

public struct HTTPFailure: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable { case unresolvable, refused, timeout, tls, http2Unavailable, other }
    public var kind: Kind
    /// libcurl's code and its words.
    public var description: String
}

public struct HTTPClient: Sendable {
    public init() {}
    /// Bounded: a body of more than `maximumBody` bytes is a failure.
    public func send(_ request: HTTPRequest, maximumBody: Int = 16 << 20) async throws(HTTPFailure) -> HTTPResponse { fatalError() }
}
