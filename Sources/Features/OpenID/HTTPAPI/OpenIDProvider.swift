import Console
import Curl
import LiveActivity
import OpenSSL
import StrictJSON
import Synchronization
import Threads

/// The calls to a provider. Documents of it are kept for an hour, so that a sign-in costs it one request. Each call has
/// a deadline and a largest answer, runs on a thread of its own, and follows no redirect.
final class OpenIDProvider: Sendable {
    private struct Document {
        var result: Result<[UInt8], OpenIDFailure>
        var at: ContinuousClock.Instant
        /// When it was asked for last. The last good answer stays if the next one is a failure.
        var askedAt: ContinuousClock.Instant

        func isFresh(_ now: ContinuousClock.Instant) -> Bool {
            switch result {
            case .success: at + OpenIDProvider.life > now
            case .failure: at + OpenIDProvider.pause > now
            }
        }
    }

    private static let life: Duration = .seconds(3_600)
    /// The least time between two questions for an unknown key, or for an address that the provider moved, by all
    /// sign-ins.
    private static let leastAge: Duration = .seconds(60)
    /// A provider that failed is asked again after this time. Until then a sign-in fails at once.
    private static let pause: Duration = .seconds(10)
    private static let timeout: Duration = .seconds(5)
    private static let mostAnswer = 128 << 10
    /// The most sign-ins that ask the provider at once: half of `GatewayConfiguration.signInRequests`, so that a slow
    /// provider does not stop people with a secret.
    private static let mostAtOnce = 8
    /// The most sign-ins of one network at once, so that a stranger does not keep everybody else from signing in.
    private static let mostOfNetwork = 2

    let options: OpenIDOptions
    private let issuer: String
    private let clientID: String
    private let documents = Mutex<[String: Document]>([:])
    private let questions = SharedCall<String, [UInt8], OpenIDFailure>()
    private let running = Mutex<[String: Int]>([:])
    private let now: @Sendable () -> ContinuousClock.Instant

    /// The provider that the options name. Nil: they name none.
    init?(_ options: OpenIDOptions, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        guard let issuer = options.issuer, let clientID = options.clientID else { return nil }
        (self.options, self.issuer, self.clientID, self.now) = (options, issuer, clientID, now)
    }

    /// The address of the provider's sign-in page for this attempt.
    func address(_ attempt: SignInAttempt, _ network: String) async throws(OpenIDFailure) -> String {
        try await counted(network) { () async throws(OpenIDFailure) in
            let page = try await self.metadata(Self.life).authorizationEndpoint
            let challenge = Base64.encodeURL(SHA256Digest(of: attempt.verifier.utf8))
            return page + (page.contains("?") ? "&" : "?")
                + Self.form([
                    ("response_type", "code"), ("client_id", self.clientID), ("redirect_uri", attempt.returnAddress),
                    ("scope", self.options.scope), ("state", attempt.state), ("nonce", attempt.nonce),
                    ("code_challenge", challenge), ("code_challenge_method", "S256"),
                ])
        }
    }

    /// The ID token for a code, checked.
    /// - Parameter time: epoch milliseconds
    func redeem(
        _ code: String, _ attempt: SignInAttempt, _ network: String, at time: Int64
    ) async throws(OpenIDFailure) -> IDToken {
        try await counted(network) { () async throws(OpenIDFailure) in
            let text = try await self.at(\.tokenEndpoint) { metadata throws(OpenIDFailure) in
                try await self.token(code, attempt, metadata)
            }
            let rules = IDToken.Rules(
                issuer: self.issuer, clientID: self.clientID, nonce: attempt.nonce, now: time / 1_000)
            // The provider may have changed its keys. The second look asks for them once, however many tokens come.
            var refusal = ""
            for age in [Self.life, Self.leastAge] {
                let keys = try await self.at(\.keys) { metadata throws(OpenIDFailure) in
                    try ProviderKeys(try await self.document(metadata.keys, notOlderThan: age))
                }
                do throws(IDToken.Refusal) {
                    return try IDToken(text, keys, rules)
                } catch {
                    switch error {
                    case .ofNoKey(let reason): refusal = reason
                    case .wrong(let reason): throw OpenIDFailure("the ID token is refused: \(reason)", .refused)
                    }
                }
            }
            throw OpenIDFailure("the ID token is refused: \(refusal)", .refused)
        }
    }

    private func counted<Value: Sendable>(
        _ network: String, _ body: () async throws(OpenIDFailure) -> Value
    ) async throws(OpenIDFailure) -> Value {
        let isAdmitted = running.withLock { running in
            guard running[network, default: 0] < Self.mostOfNetwork,
                running.values.reduce(0, +) < Self.mostAtOnce
            else { return false }
            running[network, default: 0] += 1
            return true
        }
        guard isAdmitted else { throw OpenIDFailure("other sign-ins ask it already", .busy) }
        defer {
            running.withLock { running in
                let left = (running[network] ?? 0) - 1
                running[network] = left > 0 ? left : nil
            }
        }
        return try await body()
    }

    /// Uses an address of the provider. If it does not answer there as it should, it may have moved the address. Then
    /// its discovery document is asked for again, and another address is tried.
    private func at<Value>(
        _ address: KeyPath<ProviderMetadata, String>,
        _ use: (ProviderMetadata) async throws(OpenIDFailure) -> Value
    ) async throws(OpenIDFailure) -> Value {
        let known = try await metadata(Self.life)
        do {
            return try await use(known)
        } catch {
            guard error.kind == .away, let newer = try? await metadata(Self.leastAge),
                newer[keyPath: address] != known[keyPath: address]
            else { throw error }
            return try await use(newer)
        }
    }

    private func metadata(_ age: Duration) async throws(OpenIDFailure) -> ProviderMetadata {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let document = try await document("\(base)/.well-known/openid-configuration", notOlderThan: age)
        return try ProviderMetadata(document, issuer: issuer)
    }

    private func document(_ url: String, notOlderThan age: Duration) async throws(OpenIDFailure) -> [UInt8] {
        if let known = known(url, age) { return try known.get() }
        return try await questions.result(url) { [self] () async throws(OpenIDFailure) in
            // The call before this one may have brought it.
            if let known = known(url, age) { return try known.get() }
            let result = await fetch(url)
            let now = now()
            documents.withLock { documents in
                if case .failure = result, let known = documents[url], known.isFresh(now) {
                    documents[url]?.askedAt = now
                } else {
                    documents[url] = Document(result: result, at: now, askedAt: now)
                }
            }
            return try result.get()
        }
    }

    private func known(_ url: String, _ age: Duration) -> Result<[UInt8], OpenIDFailure>? {
        let now = now()
        guard let document = documents.withLock({ $0[url] }), document.isFresh(now) else { return nil }
        if case .success = document.result, document.askedAt + age <= now { return nil }
        return document.result
    }

    private func fetch(_ url: String) async -> Result<[UInt8], OpenIDFailure> {
        do throws(OpenIDFailure) {
            let response = try await send("GET", url, [("Accept", "application/json")], nil)
            guard response.status == 200 else { throw OpenIDFailure("\(url) answered \(response.status)") }
            return .success(response.body)
        } catch {
            return .failure(error)
        }
    }

    /// RFC 6749, 4.1.3, and RFC 7636, 4.5.
    private func token(
        _ code: String, _ attempt: SignInAttempt, _ metadata: ProviderMetadata
    ) async throws(OpenIDFailure) -> String {
        var fields = [
            ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", attempt.returnAddress),
            ("code_verifier", attempt.verifier),
        ]
        var headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
        if let secret = options.clientSecret, !metadata.takesSecretInBody {
            // Both are encoded first (RFC 6749, 2.3.1).
            let pair = "\(clientID.urlComponent):\(secret.urlComponent)"
            headers.append(("Authorization", "Basic \(Base64.encode(pair.utf8))"))
        } else {
            fields.append(("client_id", clientID))
            if let secret = options.clientSecret { fields.append(("client_secret", secret)) }
        }
        let url = metadata.tokenEndpoint
        let response = try await send("POST", url, headers, Array(Self.form(fields).utf8))
        let body = try? JSONDocument(response.body).root.object()
        guard response.status == 200 else {
            // A word such as invalid_grant. The rest of the answer may repeat what we sent.
            let word = body?.text("error").flatMap(Self.word)
            // Without such a word the address may be no endpoint of tokens any more.
            let isOurs = (400..<500).contains(response.status) && (word != nil || response.status <= 401)
            throw OpenIDFailure(
                "\(url) answered \(response.status)\(word.map { " \($0)" } ?? "")", isOurs ? .refused : .away)
        }
        guard let token = body?.text("id_token") else {
            throw OpenIDFailure("\(url) answered no id_token", .refused)
        }
        return token
    }

    private func send(
        _ method: String, _ url: String, _ headers: [(String, String)], _ body: [UInt8]?
    ) async throws(OpenIDFailure) -> HTTPResponse {
        let request = HTTPRequest(
            method, url, headers: headers, body: body.map { .bytes($0) }, caFile: options.caFile,
            timeout: Self.timeout)
        do throws(HTTPFailure) {
            return try await HTTPClient().send(request, maximumBody: Self.mostAnswer)
        } catch {
            throw OpenIDFailure(error.description)
        }
    }

    /// An error's word of a provider, if it looks like one.
    static func word(_ text: String) -> String? {
        let isWord = text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        return (1...40).contains(text.utf8.count) && isWord ? text : nil
    }

    private static func form(_ fields: [(String, String)]) -> String {
        fields.map { "\($0.0)=\($0.1.urlComponent)" }.joined(separator: "&")
    }
}
