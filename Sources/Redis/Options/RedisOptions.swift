public import OpenSSL

public struct RedisOptions: Sendable {
    /// The longest time for each of: the connection, TLS, and the greeting (AUTH, SELECT, scripts).
    public var connectTimeout: Duration = .seconds(5)
    /// The longest time until the server's next whole reply. A pipeline may take longer while replies keep coming.
    public var commandTimeout: Duration = .seconds(5)
    /// The name that CLIENT LIST shows: letters, digits and `-`.
    public var clientName = "lamplighter"
    /// The files for URLs that ask for TLS.
    public var tls = RedisTLSFiles()

    /// Whether a single server must be a primary, also for reads. Sentinels and a cluster name primaries anyway.
    public var needsPrimary = false

    /// Whether commands that come while the server owes a reply wait for it and are sent together. Then they share a
    /// write, a read and a turn of the server, which forces its file to the disk once a turn. A command that comes
    /// alone is sent at once.
    public var sharesTurns = false

    public init() {}
}

/// `redis.verify`: how TLS checks that it has reached the right server.
extension TLSServer.Trust {
    public static let rule = "full, none, or sha256: and the 64 hex digits of the server's certificate, with commas"

    /// Reads `full`, `none` or `sha256:AB:CD…`. Nil if it is none of them.
    public init?(_ text: String) {
        switch text {
        case "full": self = .roots
        case "none": self = .anything
        default:
            var pins: [[UInt8]] = []
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                let part = part.filter { $0 != " " }.lowercased()
                guard part.hasPrefix("sha256:") else { return nil }
                let digits = part.dropFirst("sha256:".count).filter { $0 != ":" }
                let bytes = stride(from: 0, to: digits.count, by: 2).map {
                    UInt8(digits.dropFirst($0).prefix(2), radix: 16)
                }
                guard digits.count == 64, !bytes.contains(nil) else { return nil }
                pins.append(bytes.compactMap(\.self))
            }
            self = .pinned(pins)
        }
    }
}

/// The PEM files for TLS. Each new connection reads them, so a replaced file takes effect with the next one.
public struct RedisTLSFiles: Sendable, Hashable {
    /// The roots that must have signed the server's certificate. Nil means the system's roots.
    public var roots: String?
    /// The client's certificate and its key, for servers that ask for one. Set both or neither.
    public var certificate: String?
    public var key: String?
    public var verification = TLSServer.Trust.roots

    public init(roots: String? = nil, certificate: String? = nil, key: String? = nil) {
        (self.roots, self.certificate, self.key) = (roots, certificate, key)
    }
}
