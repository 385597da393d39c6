import Answers
import Curl
import LiveActivity
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// The calls to a provider that is away, slow, huge, or answers something else.
@Suite struct OpenIDProviderTests {
    private final class Clock: Sendable {
        private let ahead = Mutex<Duration>(.zero)
        var now: ContinuousClock.Instant { .now + ahead.withLock { $0 } }
        func wait(_ time: Duration) { ahead.withLock { $0 += time } }
    }

    private let attempt = SignInAttempt(
        app: nil, next: "/console", returnAddress: "https://console.example/console/back")

    private func provider(
        _ server: TestProvider, _ clock: Clock = Clock(), _ change: (inout OpenIDOptions) -> Void = { _ in }
    ) throws -> OpenIDProvider {
        var options = try server.options("editors = shop read")
        change(&options)
        let provider = OpenIDProvider(options, now: { clock.now })
        return try #require(provider)
    }

    private func failure(
        _ body: () async throws(OpenIDFailure) -> Void
    ) async -> OpenIDFailure? {
        do throws(OpenIDFailure) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    private func code(_ server: TestProvider, _ provider: OpenIDProvider) async throws -> String {
        let back = try await server.agree(try await provider.address(attempt, "n"))
        return String(back.drop { $0 != "=" }.dropFirst().prefix { $0 != "&" })
    }

    @Test func `a code becomes a person, and the documents are asked for once an hour`() async throws {
        let (server, clock) = (try await TestProvider(), Clock())
        let provider = try provider(server, clock)
        for _ in 0..<3 {
            let token = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
            #expect(token.person == "anna@example.com")
        }
        let discovery = "/.well-known/openid-configuration"
        #expect(server.count(discovery) == 1 && server.count("/keys") == 1 && server.count("/token") == 3)
        clock.wait(.seconds(3_601))
        _ = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
        #expect(server.count(discovery) == 2 && server.count("/keys") == 2)
    }

    @Test func `the client's secret goes where the provider takes it, and a public client has none`() async throws {
        let server = try await TestProvider()
        func sent(_ methods: [JSON]?, _ change: (inout OpenIDOptions) -> Void = { _ in }) async throws
            -> (HTTPSReceiver.Request, OpenIDFailure?)
        {
            server.state.withLock { $0.metadata["token_endpoint_auth_methods_supported"] = methods.map { .array($0) } }
            let provider = try provider(server, Clock(), change)
            let code = try await code(server, provider)
            let failure = await failure { () async throws(OpenIDFailure) in
                _ = try await provider.redeem(code, attempt, "n", at: testNow)
            }
            return (try #require(server.receiver.requests.last { $0.line.contains("/token") }), failure)
        }
        for methods in [nil, ["client_secret_basic"], ["client_secret_post", "client_secret_basic"]] as [[JSON]?] {
            let (request, failure) = try await sent(methods)
            #expect(failure == nil && request.headers["authorization"] != nil && !request.text.contains("secret"))
        }
        let (request, right) = try await sent(["client_secret_post"])
        #expect(right == nil && request.headers["authorization"] == nil && request.text.contains("&client_secret="))
        let (open, refused) = try await sent(nil) { $0.clientSecret = nil }
        #expect(open.headers["authorization"] == nil && open.text.contains("client_id=lamp%2Flighter"))
        #expect(refused?.kind == .refused && refused?.reason.contains("400 invalid_client") == true)
        #expect(refused?.reason.contains("secret words") == false)
    }

    @Test func `a verifier or an address that is not this sign-in's gets no token`() async throws {
        let server = try await TestProvider()
        let provider = try provider(server)
        for other in [
            SignInAttempt(app: nil, next: "", returnAddress: attempt.returnAddress),
            SignInAttempt(app: nil, next: "", returnAddress: "https://console.example/other"),
        ] {
            let code = try await code(server, provider)
            let failure = await failure { () async throws(OpenIDFailure) in
                _ = try await provider.redeem(code, other, "n", at: testNow)
            }
            #expect(failure?.kind == .refused && failure?.reason.contains("invalid_grant") == true)
        }
    }

    @Test func `another key is looked for once, however many tokens name it`() async throws {
        let (server, clock) = (try await TestProvider(), Clock())
        let provider = try provider(server, clock)
        _ = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
        let next = try await TokenSigner(.rsa, id: "key-2")
        server.state.withLock { $0.signer = next }
        let early = try await code(server, provider)
        let tooSoon = await failure { () async throws(OpenIDFailure) in
            _ = try await provider.redeem(early, attempt, "n", at: testNow)
        }
        #expect(tooSoon?.reason.contains("its key is not one of the provider's") == true)
        #expect(server.count("/keys") == 1, "it was asked for a moment ago")
        clock.wait(.seconds(61))
        _ = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
        #expect(server.count("/keys") == 2)
        let strange = try await TokenSigner(.rsa, id: "key-3")
        for _ in 0..<3 {
            server.state.withLock { $0.signer = strange }
            let code = try await code(server, provider)
            server.state.withLock { $0.signer = next }
            let failure = await failure { () async throws(OpenIDFailure) in
                _ = try await provider.redeem(code, attempt, "n", at: testNow)
            }
            #expect(failure?.kind == .refused)
        }
        #expect(server.count("/keys") == 2)
    }

    @Test(
        arguments: [
            ("issuer", "https://other.example", "another issuer"), ("issuer", nil, "another issuer"),
            ("token_endpoint", "http://id.example.com/token", "token_endpoint"), ("jwks_uri", nil, "jwks_uri"),
            ("authorization_endpoint", "https://a@b.example/", "authorization_endpoint"),
            ("authorization_endpoint", "javascript:alert(1)", "authorization_endpoint"),
            ("authorization_endpoint", "https://a.example/#x", "authorization_endpoint"),
            ("authorization_endpoint", "https://a.example/\r\nx: y", "authorization_endpoint"),
            ("token_endpoint", 7, "token_endpoint"),
        ] as [(String, JSON?, String)])
    func `a discovery document that leads astray is refused`(key: String, value: JSON?, words: String) throws {
        let issuer = "https://id.example.com"
        let usual = JSON.fields([
            "issuer": .string(issuer), "authorization_endpoint": "https://id.example.com/a",
            "token_endpoint": "https://tokens.example.com/t", "jwks_uri": "https://id.example.com/k",
        ])
        #expect(try ProviderMetadata(usual.bytes, issuer: issuer).tokenEndpoint == "https://tokens.example.com/t")
        let error = #expect(throws: OpenIDFailure.self) {
            try ProviderMetadata(usual.with([key: value]).bytes, issuer: issuer)
        }
        #expect(error?.reason.contains(words) == true, "\(String(describing: error))")
        // A provider elsewhere must not reach services of this machine.
        let inward = usual.with(["jwks_uri": "https://127.0.0.1:6379/"]).bytes
        #expect(throws: OpenIDFailure.self) { try ProviderMetadata(inward, issuer: issuer) }
    }

    @Test(arguments: [
        (HTTPSReceiver.Answer.status(500), "answered 500"),
        (.status(200, body: Array("<html>".utf8)), "no JSON object"),
        (.status(302, headers: [("Location", "https://localhost:1/")]), "answered 302"),
        (.status(200, body: [UInt8](repeating: 0x20, count: 129 << 10)), "longer than"),
        (.silence, "timed out"),
    ])
    func `a provider that is down, huge, silent or leads elsewhere fails, and others fail at once then`(
        answer: HTTPSReceiver.Answer, words: String
    ) async throws {
        let (server, clock) = (try await TestProvider(), Clock())
        let path = "/.well-known/openid-configuration"
        server.state.withLock { $0.faults[path] = answer }
        let provider = try provider(server, clock)
        for _ in 0..<3 {
            let failure = await failure { () async throws(OpenIDFailure) in
                _ = try await provider.address(attempt, "n")
            }
            #expect(failure?.kind == .away && failure?.reason.contains(words) == true, "\(String(describing: failure))")
        }
        // A wrong document is read anew from what is kept.
        #expect(server.count(path) == 1)
        server.state.withLock { $0.faults = [:] }
        clock.wait(.seconds(words == "no JSON object" ? 3_601 : 11))
        #expect(try await provider.address(attempt, "n").hasPrefix(server.issuer))
    }

    @Test(arguments: [
        ("/token", HTTPSReceiver.Answer.status(503), OpenIDFailure.Kind.away),
        ("/token", .status(200, body: Array("{}".utf8)), .refused), ("/token", .status(307), .away),
        ("/token", .status(200, body: Array(#"{"id_token":"eyJhbGciOiJub25lIn0.e30."}"#.utf8)), .refused),
        ("/keys", .status(200, body: Array(#"{"keys":1}"#.utf8)), .away), ("/keys", .status(404), .away),
    ])
    func `what comes in place of a token or of keys proves nobody`(
        path: String, answer: HTTPSReceiver.Answer, kind: OpenIDFailure.Kind
    ) async throws {
        let server = try await TestProvider()
        server.state.withLock { $0.faults[path] = answer }
        let provider = try provider(server)
        let code = try await code(server, provider)
        let failure = await failure { () async throws(OpenIDFailure) in
            _ = try await provider.redeem(code, attempt, "n", at: testNow)
        }
        #expect(failure?.kind == kind, "\(String(describing: failure))")
        #expect(failure?.reason.contains(code) == false && failure?.reason.contains(TestProvider.secret) == false)
    }

    @Test func `a certificate of nobody known is refused`() async throws {
        let server = try await TestProvider()
        let provider = try provider(server) { $0.caFile = nil }
        let failure = await failure { () async throws(OpenIDFailure) in _ = try await provider.address(attempt, "n") }
        #expect(failure?.kind == .away && server.count("/.well-known/openid-configuration") == 0)
    }

    @Test func `a key of the same name is looked for too, and what the provider has is kept meanwhile`() async throws {
        let (server, clock) = (try await TestProvider(), Clock())
        func change(_ kind: TokenSigner.Kind) async throws {
            let signer = try await TokenSigner(kind)
            server.state.withLock { $0.signer = signer }
        }
        let provider = try provider(server, clock)
        _ = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
        clock.wait(.seconds(61))
        try await change(.p256)
        _ = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
        #expect(server.count("/keys") == 2)
        // Another kind of key under the same name. The provider's keys are away for a moment.
        try await change(.rsa)
        clock.wait(.seconds(61))
        server.state.withLock { $0.faults["/keys"] = .status(500) }
        let early = try await code(server, provider)
        let away = await failure { () async throws(OpenIDFailure) in
            _ = try await provider.redeem(early, attempt, "n", at: testNow)
        }
        #expect(away?.kind == .away, "\(String(describing: away))")
        server.state.withLock { $0.faults = [:] }
        let soon = try await code(server, provider)
        let refused = await failure { () async throws(OpenIDFailure) in
            _ = try await provider.redeem(soon, attempt, "n", at: testNow)
        }
        #expect(refused?.kind == .refused && server.count("/keys") == 3, "within the minute")
        clock.wait(.seconds(61))
        _ = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
        #expect(server.count("/keys") == 4)
    }

    @Test(arguments: [("token_endpoint", "/token"), ("jwks_uri", "/keys")])
    func `an address that the provider moved is looked for once a minute`(member: String, path: String) async throws {
        let (server, clock) = (try await TestProvider(), Clock())
        let provider = try provider(server, clock)
        let discovery = "/.well-known/openid-configuration"
        _ = try await provider.address(attempt, "n")
        server.state.withLock { $0.faults[path] = .status(404) }
        let early = try await code(server, provider)
        let gone = await failure { () async throws(OpenIDFailure) in
            _ = try await provider.redeem(early, attempt, "n", at: testNow)
        }
        #expect(gone?.kind == .away && server.count(discovery) == 1, "\(String(describing: gone))")
        clock.wait(.seconds(61))
        server.state.withLock { $0.metadata[member] = JSON.string(server.issuer + "/moved" + path) }
        _ = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
        #expect(server.count(discovery) == 2 && server.count("/moved" + path) == 1)
        // The new address is known now.
        _ = try await provider.redeem(try await code(server, provider), attempt, "n", at: testNow)
        #expect(server.count(discovery) == 2)
    }

    @Test func `a slow provider holds two sign-ins of a network, and eight in all`() async throws {
        let server = try await TestProvider()
        let provider = try provider(server)
        _ = try await provider.address(attempt, "n")
        server.state.withLock { $0.faults["/token"] = .silence }
        let kinds = await withTaskGroup(of: OpenIDFailure.Kind?.self) { tasks in
            // Four of each of three networks, and one of each of six others.
            for number in 0..<18 {
                let network = number < 12 ? "n\(number % 3)" : "n\(number)"
                tasks.addTask {
                    await failure { () async throws(OpenIDFailure) in
                        _ = try await provider.redeem("x", attempt, network, at: testNow)
                    }?.kind
                }
            }
            return await tasks.reduce(into: [OpenIDFailure.Kind?]()) { $0.append($1) }
        }
        #expect(kinds.count { $0 == .busy } == 10 && kinds.count { $0 == .away } == 8)
        let ofOne = await withTaskGroup(of: OpenIDFailure.Kind?.self) { tasks in
            for _ in 0..<6 {
                tasks.addTask {
                    await failure { () async throws(OpenIDFailure) in
                        _ = try await provider.redeem("x", attempt, "one", at: testNow)
                    }?.kind
                }
            }
            return await tasks.reduce(into: [OpenIDFailure.Kind?]()) { $0.append($1) }
        }
        #expect(ofOne.count { $0 == .busy } == 4 && ofOne.count { $0 == .away } == 2)
    }

    @Test func `entries of the setting are read as people write them`() throws {
        let list = try #require(
            OpenIDOptions.GroupRights.list("/Team A = shop read,publish match-\n\n a = b = shop read ;x = news operate")
        )
        #expect(
            list.map(\.group) == ["/Team A", "a = b", "x"] && list.map(\.app.rawValue) == ["shop", "shop", "news"])
        #expect(list[0].namePrefix == "match-" && list[0].scopes == [.read, .publish] && list[1].namePrefix == nil)
        for text in ["", "x", "x = shop", "x = shop all", " = shop read", "x = shop read a b", "x = sh/op read"] {
            #expect(OpenIDOptions.GroupRights.list(text) == nil, "\(text)")
        }
        var options = OpenIDOptions()
        options.access = list
        #expect(options.access(of: ["x", "a = b"], to: list[0].app)?.group == "a = b")
        #expect(options.access(of: ["X"], to: list[2].app) == nil)
    }
}
