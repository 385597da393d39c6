/// Why a TLS connection cannot go on. Holds no key and no content.
public enum TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    /// OpenSSL could not be set up: its words.
    case setup(String)
    /// The peer's certificate is not trusted, is another host's or has expired: OpenSSL's words.
    case certificate(String)
    /// The peer speaks no TLS that we do, or broke its rules: OpenSSL's words.
    case handshake(String)
    /// The connection ended, with a word (close_notify) or without.
    case lost(String)

    /// Another connection may fare better.
    public var isRetriable: Bool {
        switch self {
        case .setup, .certificate: false
        case .handshake, .lost: true
        }
    }

    public var description: String {
        switch self {
        case .setup(let words): "TLS could not be set up: \(words)"
        case .certificate(let words): "the server's certificate: \(words)"
        case .handshake(let words): "TLS: \(words)"
        case .lost(let words): "the connection ended: \(words)"
        }
    }
}
