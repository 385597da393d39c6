internal import Curl
internal import LiveActivity
internal import OpenSSL
internal import StrictJSON

/// Exchanges a signed request of a service account for an access token, at the account's token endpoint.
struct TokenExchange: Sendable {
    let account: ServiceAccount
    let caFile: String?
    let timeout: Duration

    private static let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// The most bytes of an answer. Google's have about 1,200.
    private static let maximumAnswer = 64 << 10

    /// - Parameter now: epoch seconds
    func run(now: Int) async throws(TokenExchangeError) -> AccessToken {
        let assertion: String
        do throws(SigningKeyError) { assertion = try account.assertion(at: now) } catch {
            throw .unsigned("\(error)")
        }
        var request = HTTPRequest(
            "POST", account.tokenURI, headers: [("content-type", "application/x-www-form-urlencoded")],
            body: .bytes(Array("grant_type=\(Self.grant.urlComponent)&assertion=\(assertion)".utf8)), caFile: caFile,
            timeout: timeout)
        request.requiresHTTP2 = true
        let response: HTTPResponse
        do throws(HTTPFailure) {
            response = try await HTTPClient().send(request, maximumBody: Self.maximumAnswer)
        } catch {
            throw .unanswered(error.description)
        }
        return try Self.token(status: response.status, response.body, now: now)
    }

    /// Reads the endpoint's answer.
    static func token(status: Int, _ body: [UInt8], now: Int) throws(TokenExchangeError) -> AccessToken {
        guard let object = try? JSONDocument(body).root.object() else { throw .unreadable(status: status) }
        // A 5xx says nothing about the account.
        if let error = (try? object["error"]?.string()) ?? nil, (400..<500).contains(status), status != 429 {
            throw .refused(error, (try? object["error_description"]?.string()) ?? nil)
        }
        guard status == 200, let secret = (try? object["access_token"]?.string()) ?? nil,
            !secret.isEmpty, secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let seconds = (try? object["expires_in"]?.integer()) ?? nil, seconds > 0
        else { throw .unreadable(status: status) }
        return AccessToken(secret: secret, endsAt: now + Int(min(seconds, 86_400)))
    }
}

/// Why there is no access token. No case holds a key or a token.
public enum TokenExchangeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The endpoint's words for the error, and its explanation.
    case refused(String, String?)
    /// The answer is no JSON, or has no token.
    case unreadable(status: Int)
    /// There is no answer.
    case unanswered(String)
    case unsigned(String)

    public var description: String {
        switch self {
        case .refused(let word, let explanation):
            "Google refuses the service account: \(word)"
                + (explanation.map { " (\($0.visible.prefix(200)))" } ?? "") + Self.remedy(word, explanation ?? "")
        case .unreadable(let status): "the token endpoint answered \(status) without an access token"
        case .unanswered(let text): "no answer from the token endpoint: \(text)"
        case .unsigned(let text): "the request for an access token could not be signed: \(text)"
        }
    }

    private static func remedy(_ word: String, _ explanation: String) -> String {
        guard word == "invalid_grant" else { return "" }
        if explanation.contains("Signature") {
            return "; the key is not this account's any more: make another key file in the Firebase console"
        }
        if explanation.contains("timeframe") || explanation.contains("short-lived") {
            return "; the clock of this machine is wrong: set it"
        }
        return "; the service account may be disabled or deleted: look in the Firebase console"
    }
}
