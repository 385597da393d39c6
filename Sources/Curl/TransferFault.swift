internal import CCurl

/// Why a transfer ended without a complete answer: libcurl's codes in the groups that a caller distinguishes.
public enum TransferFault: Sendable, Hashable {
    /// The host has no address, or the resolver failed.
    case unresolvable
    /// No TCP connection: refused, unreachable.
    case unconnectable
    /// The handshake failed, or the certificate is not trusted or belongs to another host.
    case tls
    case timeout
    /// The connection ended during the request.
    case lost
    /// The stream ended during the request. libcurl also reports this when the connection ended.
    case streamReset
    /// Anything else: libcurl's code.
    case other(Int32)

    /// The fault that a code of libcurl names. Nil when the transfer succeeded.
    init?(_ code: CURLcode) {
        switch code {
        case CURLE_OK: return nil
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: self = .unresolvable
        case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: self = .unconnectable
        case CURLE_OPERATION_TIMEDOUT: self = .timeout
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ENGINE_NOTFOUND,
            CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CRL_BADFILE, CURLE_SSL_SHUTDOWN_FAILED,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CLIENTCERT:
            self = .tls
        case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_PARTIAL_FILE: self = .lost
        case CURLE_HTTP2_STREAM: self = .streamReset
        default: self = .other(Int32(code.rawValue))
        }
    }
}
