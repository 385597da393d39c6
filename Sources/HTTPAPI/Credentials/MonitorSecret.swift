import HTTPTypes
import LiveActivity
import OpenSSL

/// The secret of `/metrics` and `/readyz`, if the configuration has one. It is sent as the password of HTTP Basic or
/// as a Bearer token.
struct MonitorSecret: Sendable {
    /// The digest of the secret. Nil: both paths are open.
    private let digest: SHA256Digest?

    init(_ secret: String?) { digest = secret.map { SHA256Digest(of: $0.utf8) } }

    /// Refuses a request without the secret, and slows down guesses.
    func check(
        _ headers: HTTPFields, from address: ClientAddress, _ guesses: SignInLimit
    ) throws(APIError) {
        guard digest != nil else { return }
        let header = headers[.authorization] ?? ""
        if let seconds = guesses.wait(address, header) { throw .tooManyGuesses(seconds) }
        guard admits(headers) else {
            if !header.isEmpty { guesses.failed(address) }
            throw .noMonitorSecret
        }
        guesses.succeeded(address, header)
    }

    /// Compares in constant time.
    func admits(_ headers: HTTPFields) -> Bool {
        guard let digest else { return true }
        guard let authorization = headers[.authorization], let space = authorization.firstIndex(of: " ") else {
            return false
        }
        let value = authorization[authorization.index(after: space)...]
        switch authorization[..<space].lowercased() {
        case "bearer": return SHA256Digest(of: value.utf8) == digest
        case "basic":
            guard let bytes = Base64.decode(value), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
                return false
            }
            return SHA256Digest(of: bytes[(colon + 1)...]) == digest
        default: return false
        }
    }
}

extension APIError {
    static let noMonitorSecret = APIError(
        401, "Send the secret of monitor.secret, as the password of Basic or as a Bearer token.", code: 40101)
}
