import Foundation
import LiveActivity
import OpenSSL
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI

/// A provider of OpenID Connect over TLS. It checks what a provider checks: client, address, code, PKCE.
final class TestProvider: Sendable {
    struct State: Sendable {
        var signer: TokenSigner
        var claims: [String: JSON?] = [
            "email": "anna@example.com", "email_verified": true, "groups": .array(["editors"]),
        ]
        /// In place of the right answer at a path.
        var faults: [String: HTTPSReceiver.Answer] = [:]
        /// Members of the discovery document.
        var metadata: [String: JSON?] = [:]
        fileprivate var grants: [String: [String: String]] = [:]
        fileprivate var tokens: [String: String] = [:]
    }

    static let (clientID, secret) = ("lamp/lighter", "a secret: of the client")
    let receiver: HTTPSReceiver
    let state: Mutex<State>

    init() async throws {
        receiver = try HTTPSReceiver()
        state = Mutex(State(signer: try await TokenSigner(.p256)))
        receiver.answer { [unowned self] in answer($0) }
    }

    deinit { receiver.stop() }

    var issuer: String { "https://localhost:\(receiver.port)" }

    func options(_ access: String) throws -> OpenIDOptions {
        var options = OpenIDOptions()
        (options.issuer, options.clientID, options.clientSecret) = (issuer, Self.clientID, Self.secret)
        options.caFile = receiver.caFile
        options.name = "Example"
        options.access = try #require(OpenIDOptions.GroupRights.list(access))
        return options
    }

    /// How often a path was asked for.
    func count(_ path: String) -> Int { receiver.requests.count { $0.line.split(separator: " ")[1] == path } }

    /// The person agrees at the page to which the console led the browser.
    /// - Returns: the path and query at the console to which the provider leads the browser back
    func agree(_ page: String) async throws -> String {
        let query = Self.fields(String(page.drop { $0 != "?" }.dropFirst()))
        #expect(page.hasPrefix(issuer + "/authorize?") && query["response_type"] == "code")
        #expect(query["client_id"] == Self.clientID && query["code_challenge_method"] == "S256")
        #expect(query["scope"] == "openid email profile")
        let code = "code-\(UUIDBytes.random())"
        let (signer, changes) = state.withLock { ($0.signer, $0.claims) }
        let claims = JSON.fields([
            "iss": .string(issuer), "aud": .string(Self.clientID), "sub": "user-7",
            "exp": .integer(testNow / 1_000 + 300), "iat": .integer(testNow / 1_000),
            "nonce": .string(query["nonce"] ?? ""),
        ]).with(changes)
        let token = try await signer.token(claims)
        state.withLock { ($0.grants[code], $0.tokens[code]) = (query, token) }
        let address = try #require(query["redirect_uri"])
        let path = try #require(address.range(of: "/console")).lowerBound
        return "\(address[path...])?code=\(code)&state=\(query["state"] ?? "")"
    }

    private func answer(_ request: HTTPSReceiver.Request) -> HTTPSReceiver.Answer {
        let path = String(request.line.split(separator: " ")[1])
        return state.withLock { state in
            if let fault = state.faults[path] { return fault }
            switch path {
            case "/.well-known/openid-configuration":
                let usual = JSON.fields([
                    "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
                    "token_endpoint": .string(issuer + "/token"), "jwks_uri": .string(issuer + "/keys"),
                ])
                return .status(200, body: usual.with(state.metadata).bytes)
            case "/keys", "/moved/keys": return .status(200, body: TokenSigner.set(state.signer.key()))
            case "/token", "/moved/token": return token(request, &state)
            default: return .status(404)
            }
        }
    }

    private func token(_ request: HTTPSReceiver.Request, _ state: inout State) -> HTTPSReceiver.Answer {
        let fields = Self.fields(request.text)
        let basic = "lamp%2Flighter:a%20secret%3A%20of%20the%20client"
        let isClient =
            request.headers["authorization"] == "Basic \(Base64.encode(basic.utf8))"
            || fields["client_id"] == Self.clientID && fields["client_secret"] == Self.secret
        func refuse(_ word: String) -> HTTPSReceiver.Answer {
            .status(400, body: JSON.fields(["error": .string(word), "error_description": "secret words"]).bytes)
        }
        guard isClient else { return refuse("invalid_client") }
        let code = fields["code"] ?? ""
        // A code is good once.
        guard let grant = state.grants.removeValue(forKey: code), let token = state.tokens[code],
            fields["redirect_uri"] == grant["redirect_uri"], fields["grant_type"] == "authorization_code",
            Base64.encodeURL(SHA256Digest(of: (fields["code_verifier"] ?? "").utf8)) == grant["code_challenge"]
        else { return refuse("invalid_grant") }
        return .status(200, body: JSON.fields(["token_type": "Bearer", "id_token": .string(token)]).bytes)
    }

    private static func fields(_ text: String) -> [String: String] {
        let pairs = text.split(separator: "&").compactMap { pair -> (String, String)? in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let value = parts[1].formDecoded else { return nil }
            return (String(parts[0]), value)
        }
        return Dictionary(pairs) { $1 }
    }
}
