internal import COpenSSL

/// Why a TLS connection cannot go on. The error holds no key and no content.
public enum TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    /// OpenSSL could not be set up, or a file is not usable. The text names the path and the reason.
    case setup(String)
    /// The peer's certificate is not trusted: the fault, and OpenSSL's error text.
    case certificate(CertificateFault, String)
    /// The peer requires a certificate of ours, or refuses the certificate that it got, with OpenSSL's error text.
    case clientCertificate(String)
    /// The peer does not speak TLS.
    case notTLS
    /// The peer supports no TLS version or cipher that we do, or broke the protocol, with OpenSSL's error text.
    case handshake(String)
    /// The connection ended, with or without close_notify.
    case lost(String)

    public var description: String {
        switch self {
        case .setup(let message): "TLS could not be set up: \(message)"
        case .certificate(_, let message): "the server's certificate: \(message)"
        case .clientCertificate(let message): "the server wants another client certificate: \(message)"
        case .notTLS: "the server does not speak TLS on this port"
        case .handshake(let message): "TLS: \(message)"
        case .lost(let message): "the connection ended: \(message)"
        }
    }
}

/// The fault of a peer's certificate.
public enum CertificateFault: Sendable, Hashable {
    /// No trusted root certificate leads to it.
    case unknownIssuer
    /// The certificate has expired or is not valid yet.
    case expired
    /// The certificate belongs to another host.
    case wrongHost
    /// The certificate is none of the named ones (`TLSServer.Trust.pinned`).
    case notPinned
    case other

    /// - Parameter verdict: one of X509_V_ERR_…
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
