import LiveActivity
import StrictJSON

/// A sign-in through the provider that was begun. Redis keeps it under the digest of two texts: one that the browser
/// has as a cookie, and one that the provider hands back (`state`). So it ends in the browser in which it began, and
/// at whichever gateway answers then. It is taken out by the first answer.
public struct SignInAttempt: Sendable, Hashable {
    static let life: Duration = .seconds(600)
    private static let digits = 64

    public let state: String
    /// In the ID token, so that a token of another sign-in is worth nothing.
    public let nonce: String
    /// Proves to the provider that the code comes from where the sign-in began (PKCE, RFC 7636).
    public let verifier: String
    /// To where the provider sends the browser.
    public let returnAddress: String
    /// The app that was asked for. Nil: the person has one only, or is asked.
    let app: String?
    let next: String

    init(app: String?, next: String, returnAddress: String) {
        (state, nonce, verifier) = (ConsoleSession.random(), ConsoleSession.random(), ConsoleSession.random())
        (self.app, self.next, self.returnAddress) = (app, next, returnAddress)
    }

    init?(state: String, _ record: [UInt8]) {
        guard let body = try? JSONDocument(record).root.object(), let nonce = body.text("nonce"),
            let verifier = body.text("verifier"), let address = body.text("return"), let next = body.text("next")
        else { return nil }
        (self.state, self.nonce, self.verifier, returnAddress) = (state, nonce, verifier, address)
        (app, self.next) = (body.text("app"), next)
    }

    var record: [UInt8] {
        JSON.fields([
            "nonce": .string(nonce), "verifier": .string(verifier), "return": .string(returnAddress),
            "app": app.map(JSON.string), "next": .string(next),
        ]).bytes
    }

    /// The name of its record.
    static func name(browser: String, state: String) -> String { "\(browser) \(state)" }

    /// Whether a text may be one of an attempt's.
    static func isText(_ text: String) -> Bool { text.utf8.count == digits }

    static func cookieName(isSecure: Bool) -> String { (isSecure ? "__Host-" : "") + "lamplighter_sign_in" }

    /// The header `Set-Cookie`. It is `Lax`, because the provider's page leads the browser back. Nil ends it.
    /// - Parameter sessions: the ids of the browser's sessions, whose own cookie does not come back with it
    static func cookie(_ browser: String?, _ sessions: [String] = [], isSecure: Bool) -> String {
        let kept = browser.map { ([$0] + sessions).joined(separator: ".") }
        let value = kept.map { "\($0); Max-Age=\(life.components.seconds)" } ?? "; Max-Age=0"
        return "\(cookieName(isSecure: isSecure))=\(value); HttpOnly; SameSite=Lax; "
            + ConsoleSession.cookiePlace(isSecure: isSecure)
    }
}
