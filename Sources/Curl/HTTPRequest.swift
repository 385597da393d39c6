/// One HTTP request through libcurl's easy interface: for commands, `doctor`, features and channel
/// management, never for pushes.
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
    /// Connects to public addresses only (`PeerAddress.isPublic`).
    public var refusesPrivateAddresses = false
    /// An answer whose head is complete counts, also if its body is too long, too slow or breaks off.
    public var takesCutAnswers = false

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
    /// error that it throws ends the exchange and appears in the failure. With a length, the closure must return as
    /// many bytes in all.
    case stream(@Sendable () throws -> [UInt8], length: Int? = nil)
}
