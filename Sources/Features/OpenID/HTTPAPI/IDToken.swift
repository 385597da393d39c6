import LiveActivity
import OpenSSL
import StrictJSON

/// An ID token whose signature and claims are right (OpenID Connect Core 1.0, 3.1.3.7).
struct IDToken: Sendable {
    enum Refusal: Error, Hashable {
        /// No key that is known made its signature. Maybe the provider has another one by now, under the same name too.
        case ofNoKey(String)
        /// The rule that it breaks, for the log.
        case wrong(String)

        static let unknownKey = ofNoKey("its key is not one of the provider's")
    }

    /// The sign-in that the token must be for.
    struct Rules: Sendable {
        var issuer: String
        var clientID: String
        var nonce: String
        /// Epoch seconds.
        var now: Int64
    }

    /// How far the provider's clock may differ from ours, in seconds.
    static let leeway: Int64 = 60
    /// Seconds. The token was made when its code was redeemed, so an older one is of another sign-in.
    static let oldest: Int64 = 600
    private static let mostGroups = 1_000
    private static let mostBytesOfText = 256

    let subject: String
    private let claims: JSONObject

    init(_ text: String, _ keys: ProviderKeys, _ rules: Rules) throws(Refusal) {
        let parts = text.parts(between: UInt8(ascii: "."))
        guard parts.count == 3, let header = Base64.decodeURL(parts[0]).flatMap(Self.object),
            let claims = Base64.decodeURL(parts[1]).flatMap(Self.object), let signature = Base64.decodeURL(parts[2])
        else { throw .wrong("it is no signed token") }
        guard let algorithm = header.text("alg").flatMap(ProviderKeys.Algorithm.init) else {
            throw .wrong("its alg is neither RS256 nor ES256")
        }
        // Extensions that the reader must understand (RFC 7515, 4.1.11). We know none.
        guard header["crit"] == nil else { throw .wrong("it has extensions") }
        switch keys.key(header.text("kid"), algorithm) {
        case .unknown: throw .unknownKey
        case .ofOtherKind: throw .ofNoKey("its alg is not that of its key")
        case .found(let key):
            guard key.signed(Array("\(parts[0]).\(parts[1])".utf8), as: signature) else {
                throw .ofNoKey("its signature is not valid")
            }
        }
        self.claims = claims
        subject = claims.text("sub") ?? ""
        try check(rules)
    }

    private func check(_ rules: Rules) throws(Refusal) {
        guard claims.text("iss") == rules.issuer else { throw .wrong("its iss is another issuer") }
        let audience = texts("aud")
        guard audience.contains(rules.clientID) else { throw .wrong("its aud is another client") }
        let party = claims["azp"] == nil ? nil : claims.text("azp") ?? ""
        guard party ?? (audience.count == 1 ? rules.clientID : "") == rules.clientID else {
            throw .wrong("its azp is not this client")
        }
        guard let expires = seconds("exp"), let issued = seconds("iat") else { throw .wrong("it has no exp or iat") }
        guard expires > rules.now - Self.leeway else { throw .wrong("it has expired") }
        guard issued <= rules.now + Self.leeway, issued >= rules.now - Self.oldest else {
            throw .wrong("its iat is not of this sign-in")
        }
        guard claims["nbf"] == nil || seconds("nbf").map({ $0 <= rules.now + Self.leeway }) == true else {
            throw .wrong("its nbf is later")
        }
        // The comparison takes constant time, as for each secret.
        let nonce = claims.text("nonce") ?? ""
        guard SHA256Digest(of: nonce.utf8) == SHA256Digest(of: rules.nonce.utf8) else {
            throw .wrong("its nonce is of another sign-in")
        }
        guard (1...Self.mostBytesOfText).contains(subject.utf8.count) else { throw .wrong("it has no sub") }
    }

    /// Whether the provider has seen that the address is the person's. It must say so: a claim that is missing, or the
    /// text "true", is no proof.
    private var hasOwnEmail: Bool { (try? claims["email_verified"]?.bool()) == true }

    /// The person's groups. An address counts only once the provider has seen that it is the person's.
    func groups(_ claim: String) -> [String] {
        if claim == "email", !hasOwnEmail { return [] }
        return texts(claim).prefix(Self.mostGroups).filter { (1...Self.mostBytesOfText).contains($0.utf8.count) }
    }

    /// The name of the person in pages and in the log of actions: an address, a name of an account, or the `sub`.
    /// People choose some of these, so `subject` goes with it.
    var person: String {
        let names = (hasOwnEmail ? ["email"] : []) + ["preferred_username", "name"]
        let found = names.lazy.compactMap { claims.text($0).map(Self.clean) }.first { !$0.isEmpty }
        return found ?? Self.clean(subject)
    }

    /// A text of somebody else's for a page or a line of a log: without hidden characters, and not long.
    static func clean(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !scalar.isHidden && shown.count < 100 { shown.append(scalar) }
        return String(shown).trimmed
    }

    private func seconds(_ claim: String) -> Int64? {
        guard let number = claims[claim].flatMap({ try? $0.double() }), abs(number) < 1e12 else { return nil }
        return Int64(number)
    }

    private func texts(_ claim: String) -> [String] {
        claims.text(claim).map { [$0] } ?? claims.list(claim).compactMap { try? $0.string() }
    }

    private static func object(_ bytes: [UInt8]) -> JSONObject? { try? JSONDocument(bytes).root.object() }
}
