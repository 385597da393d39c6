internal import OpenSSL

/// The reason why a link cannot be used any more.
enum LinkFailure: Error {
    /// The connection broke or could not be made.
    case broken(String)
    /// The peer sent something that its protocol does not allow.
    case protocolViolation(String)
    /// The server refused AUTH or SELECT.
    case refused(RedisError)
    /// TLS failed. A new attempt also fails until an operator does what `remedy` says.
    case insecure(String, remedy: String)

    var why: String {
        switch self {
        case .broken(let text), .protocolViolation(let text): text
        case .refused(let error): error.description
        case .insecure(let text, let remedy): "\(text) (\(remedy))"
        }
    }

    /// This failure with the server's name before the text.
    func at(_ place: String) -> LinkFailure {
        switch self {
        case .broken(let text): .broken("\(place): \(text)")
        case .insecure(let text, let remedy): .insecure("\(place): \(text)", remedy: remedy)
        case .protocolViolation, .refused: self
        }
    }
}

extension LinkFailure {
    /// Adds a remedy to a TLS error. An error that a new connection may not meet again becomes a broken link.
    init(_ error: TLSError, _ files: RedisTLSFiles) {
        let remedy: String
        switch error {
        case .lost(let message):
            self = .broken(message)
            return
        case .setup: remedy = "check redis.ca_file, redis.cert_file and redis.key_file"
        case .certificate(.unknownIssuer, _):
            remedy =
                files.roots.map { "no certificate in \($0) has signed it: redis.ca_file must hold the server's CA" }
                ?? "redis.ca_file names the PEM file of the CA that has signed it; without a CA set redis.verify to its "
                + "sha256:…, once you know that it is the server's"
        case .certificate(.expired, _):
            remedy = "give the server a certificate that is valid now, and check the machines' clocks"
        case .certificate(.wrongHost, _):
            remedy = "name the server in redis.url as its certificate does, or give it one for this name or address"
        case .certificate(.notPinned, _):
            remedy = "if the server has a new certificate, add it to redis.verify: sha256:OLD,sha256:NEW"
        case .certificate(.other, _): remedy = "give the server another certificate"
        case .clientCertificate:
            remedy =
                files.certificate.map { "\($0) must be valid, and signed by a CA that the server knows" }
                ?? "set redis.cert_file and redis.key_file"
        case .notTLS: remedy = "without TLS on this port, redis.url is redis://"
        case .handshake:
            remedy =
                "the server must speak TLS 1.2 or later; if it asks for a client certificate, set redis.cert_file and redis.key_file"
        }
        self = .insecure(error.description, remedy: remedy)
    }
}
