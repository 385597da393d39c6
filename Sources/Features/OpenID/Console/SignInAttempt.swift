import LiveActivity
import StrictJSON

/// A sign-in through the provider that was begun. Redis keeps it under the digest of two texts: one that the browser
/// has as a cookie, and one that the provider hands back (`state`). So it ends in the browser in which it began, and
/// at whichever gateway answers then. It is taken out by the first answer. Each has a cookie of its own, because a
/// browser may begin several in its tabs.
public struct SignInAttempt: Sendable, Hashable {
    static let life: Duration = .seconds(600)
    private static let digits = 64
    /// Digits of `state` in the name of its cookie.
    private static let digitsOfName = 16
    /// The most that one browser keeps, so that their cookies stay small.
    private static let most = 8
    /// Bytes of the page to go to. Anybody may begin a sign-in, and Redis keeps it.
    private static let mostNext = 1_024

    public let state: String
    /// A random text that the ID token must have, so that a token of another sign-in is worth nothing.
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
        (self.app, self.returnAddress) = (app, returnAddress)
        self.next = next.utf8.count > Self.mostNext ? "/console" : next
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
    static func isText(_ text: String) -> Bool { text.utf8.count == digits && text.utf8.allSatisfy(\.isLetterOrDigit) }

    static func cookieName(of state: some StringProtocol, isSecure: Bool) -> String {
        (isSecure ? "__Host-" : "") + "lamplighter_sign_in_" + state.prefix(digitsOfName)
    }

    /// The header `Set-Cookie`. Nil ends it.
    static func cookie(_ browser: String?, of state: some StringProtocol, isSecure: Bool) -> String {
        let value = browser.map { "\($0); Max-Age=\(life.components.seconds)" } ?? "; Max-Age=0"
        return "\(cookieName(of: state, isSecure: isSecure))=\(value); HttpOnly; SameSite=Strict; "
            + ConsoleSession.cookiePlace(isSecure: isSecure)
    }

    /// The headers `Set-Cookie` that make room for one more: they end the oldest ones, which browsers send first.
    static func makingRoom(_ request: ConsoleRequest) -> [String] {
        let name = cookieName(of: "", isSecure: request.isSecure)
        let begun = request.cookieNames.compactMap { $0.rest(behind: name) }.filter { state in
            state.utf8.count == digitsOfName && state.utf8.allSatisfy(\.isLetterOrDigit)
        }
        return begun.dropLast(most - 1).map { cookie(nil, of: $0, isSecure: request.isSecure) }
    }
}
