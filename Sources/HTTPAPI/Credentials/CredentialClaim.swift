import HTTPTypes
import LiveActivity
import Store

/// The app, the id and the secret that a request sends for a credential.
struct CredentialClaim: Sendable {
    var app: String
    var id: String
    var secret: [UInt8]

    /// Basic with the user `APP` and a secret that begins with its id, or with the user `APP/ID` and any secret; or
    /// Bearer with a secret that begins with its id, and the app in `X-UA-Appkey`. Nil: it is none of these.
    init?(_ headers: HTTPFields) {
        guard let authorization = headers[.authorization], let space = authorization.firstIndex(of: " ") else {
            return nil
        }
        let value = authorization[authorization.index(after: space)...]
        switch authorization[..<space].lowercased() {
        case "basic":
            guard let bytes = Base64.decode(value), let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
                return nil
            }
            let user = String(decoding: bytes[..<colon], as: UTF8.self)
            let secret = Array(bytes[(colon + 1)...])
            if let parts = user.cut(at: UInt8(ascii: "/")) {
                self.init(app: String(parts.head), id: String(parts.tail), secret: secret)
            } else {
                self.init(app: user, secret: secret)
            }
        case "bearer":
            // A signed request has a nonce, and a token of the SDK two points.
            guard headers[.airshipNonce] == nil, let app = headers[.airshipAppKey],
                value.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 1
            else { return nil }
            self.init(app: app, secret: Array(value.utf8))
        default: return nil
        }
    }

    private init?(app: String, secret: [UInt8]) {
        guard let point = secret.firstIndex(of: UInt8(ascii: ".")) else { return nil }
        self.init(app: app, id: String(decoding: secret[..<point], as: UTF8.self), secret: secret)
    }

    private init?(app: String, id: String, secret: [UInt8]) {
        guard AppCredential.isID(id) else { return nil }
        (self.app, self.id, self.secret) = (app, id, secret)
    }
}
