import LiveActivity
import OpenSSL
import StrictJSON

/// A signed-in browser. Redis keeps it under the digest of its id; the browser has the id as a cookie.
public struct ConsoleSession: Sendable {
    /// Over TLS the prefix keeps hosts beside this one from setting the cookie: else the first of two would win.
    static func cookieName(isSecure: Bool) -> String { (isSecure ? "__Host-" : "") + "lamplighter_console" }
    /// A day's work. After that the user signs in again.
    static let life: Duration = .seconds(12 * 3_600)

    public let id: String
    /// It has the rights that the credential has now. A record in Redis holds none.
    public internal(set) var identity: ConsoleIdentity
    /// The beginning of the addresses of its pages. The browser's first session has plain ones, so that tabs that are
    /// open go on when somebody signs in to another app.
    var base = "/console"
    /// The browser's sessions of other apps, in the order of the cookie.
    var others: [ConsoleSession] = []
    /// The token in every form of this session. A page of another site cannot read it.
    let formToken: String

    /// A new session, for a sign-in. It never takes over an id that the browser had before.
    init(_ identity: ConsoleIdentity) {
        id = Self.random()
        formToken = Self.random()
        self.identity = identity
    }

    /// - Returns: nil for a record of another form.
    init?(id: String, _ record: [UInt8]) {
        guard let body = try? JSONDocument(record).root.object(),
            let app = body.text("app").flatMap({ try? AppKey($0) }),
            let proof = body.text("proof"), let token = body.text("form_token")
        else { return nil }
        self.id = id
        formToken = token
        identity = ConsoleIdentity(app: app, credentialID: body.text("credential_id"), proof: proof, scopes: [])
        guard let who = body.object("person") else { return }
        guard let person = ConsolePerson(who) else { return nil }
        identity.person = person
    }

    var record: [UInt8] {
        JSON.fields([
            "app": .string(identity.app.rawValue), "credential": .string(identity.credential),
            "credential_id": identity.credentialID.map(JSON.string), "proof": .string(identity.proof),
            "form_token": .string(formToken), "person": identity.person?.record,
        ]).bytes
    }

    func accepts(_ token: String) -> Bool {
        SHA256Digest(of: token.utf8) == SHA256Digest(of: formToken.utf8)
    }

    /// The header `Set-Cookie`. Without ids it ends the sessions in the browser.
    static func cookie(_ ids: [String], life: Duration = life, isSecure: Bool) -> String {
        let age = ids.isEmpty ? 0 : life.components.seconds
        let value = "\(ids.joined(separator: ".")); Max-Age=\(age)"
        return "\(cookieName(isSecure: isSecure))=\(value); HttpOnly; SameSite=Strict; "
            + cookiePlace(isSecure: isSecure)
    }

    /// The prefix of the name asks for the whole host.
    static func cookiePlace(isSecure: Bool) -> String { isSecure ? "Path=/; Secure" : "Path=/console" }

    /// 256 bits of the system's generator.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        for _ in 0..<4 { withUnsafeBytes(of: generator.next() as UInt64) { bytes += $0 } }
        return Hex.encode(bytes)
    }
}

extension ConsolePerson {
    fileprivate init?(_ record: JSONObject) {
        guard let name = record.text("name"), let subject = record.text("sub"),
            let signedIn = record["at"].flatMap({ try? $0.integer() })
        else { return nil }
        let groups = record.list("groups").compactMap { try? $0.string() }
        self.init(name: name, subject: subject, groups: groups, signedIn: signedIn)
    }

    fileprivate var record: JSON {
        .fields([
            "name": .string(name), "sub": .string(subject), "groups": .array(groups.map(JSON.string)),
            "at": .integer(signedIn),
        ])
    }
}
