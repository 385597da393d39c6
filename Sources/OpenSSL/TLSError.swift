internal import COpenSSL

/// Why a TLS connection cannot go on. Holds no key and no content.
public enum TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    /// OpenSSL could not be set up, or a file is not usable: its path and why.
    case setup(String)
    /// The peer's certificate is not believed: what is wrong, and OpenSSL's words.
    case certificate(CertificateFault, String)
    /// The peer wants a certificate of ours, or does not take the one it got: OpenSSL's words.
    case clientCertificate(String)
    /// What the peer says is no TLS.
    case notTLS
    /// The peer speaks no TLS that we do, or broke its rules: OpenSSL's words.
    case handshake(String)
    /// The connection ended, with a word (close_notify) or without.
    case lost(String)

    /// Another connection may fare better.
    public var isRetriable: Bool {
        switch self {
        case .setup, .certificate, .clientCertificate, .notTLS: false
        case .handshake, .lost: true
        }
    }

    public var description: String {
        switch self {
        case .setup(let words): "TLS could not be set up: \(words)"
        case .certificate(_, let words): "the server's certificate: \(words)"
        case .clientCertificate(let words): "the server wants another client certificate: \(words)"
        case .notTLS: "the server does not speak TLS on this port"
        case .handshake(let words): "TLS: \(words)"
        case .lost(let words): "the connection ended: \(words)"
        }
    }
}

/// What is wrong with a peer's certificate.
public enum CertificateFault: Sendable, Hashable {
    /// No root that is trusted leads to it.
    case unknownIssuer
    /// Its time is over, or has not come.
    case expired
    /// It is another host's.
    case wrongHost
    case other

    /// `verdict`: one of X509_V_ERR_….
    init(verdict: Int32) {
        switch verdict {
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_CERT_UNTRUSTED:
            self = .unknownIssuer
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: self = .expired
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: self = .wrongHost
        default: self = .other
        }
    }
}
