import Delivery
import Dispatch
import Lanes
import Logging
import Synchronization
import TestSupport
import Testing

@testable import FCMClient

/// When an access token is renewed, and how many are made.
@Suite struct AccessTokenSourceTests {
    private static let start = 1_795_284_000
    private static let unauthenticated = Rejection(status: 401, reason: "UNAUTHENTICATED", verdict: .renewCredential)

    /// A token endpoint and a clock. Tokens are `token-1`, `token-2`, … and live for an hour.
    private final class Endpoint: Sendable {
        private struct State {
            var now = AccessTokenSourceTests.start
            var made = 0
            var asked = 0
            var accounts: [String] = []
            var failure: TokenExchangeError?
        }
        private let state = Mutex(State())

        var now: Int {
            get { state.withLock { $0.now } }
            set { state.withLock { $0.now = newValue } }
        }
        var made: Int { state.withLock { $0.made } }
        /// How many exchanges were asked for.
        var asked: Int { state.withLock { $0.asked } }
        func fails(_ failure: TokenExchangeError?) { state.withLock { $0.failure = failure } }

        /// The accounts that asked, in order.
        var accounts: [String] { state.withLock { $0.accounts } }

        func exchange(_ account: ServiceAccount, _ now: Int) throws(TokenExchangeError) -> AccessToken {
            try state.withLock { state throws(TokenExchangeError) in
                state.asked += 1
                state.accounts.append(account.clientEmail)
                if let failure = state.failure { throw failure }
                state.made += 1
                return AccessToken(secret: "token-\(state.made)", endsAt: now + 3_600)
            }
        }

        func source(
            _ share: (any AccessTokenShare)? = nil, of accounts: LiveServiceAccount? = nil
        ) throws -> AccessTokenSource {
            AccessTokenSource(
                try accounts ?? LiveServiceAccount(TestAccount().read()), share: share, logger: Logger(label: "test"),
                now: { self.now },
                exchange: { (account, now) async throws(TokenExchangeError) in try self.exchange(account, now) })
        }
    }

    /// Runs a call on a thread that may block, as a lane's is.
    private func onThread<Value: Sendable>(_ call: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try call() }) }
        }
    }

    private func secret(_ source: AccessTokenSource) async throws -> String {
        try await onThread { try source.current().secret }
    }

    @Test func `one token serves until five minutes before its end, and then goes on while it is renewed`() async throws
    {
        let endpoint = Endpoint()
        let source = try endpoint.source()
        #expect(try await secret(source) == "token-1")
        endpoint.now = Self.start + 3_299
        #expect(try await secret(source) == "token-1")
        #expect(endpoint.made == 1)
        endpoint.now = Self.start + 3_300
        #expect(try await secret(source) == "token-1", "a request does not wait for an early renewal")
        try await eventually("the token is renewed") { try await secret(source) == "token-2" }
        #expect(endpoint.made == 2)
    }

    @Test func `an early renewal that fails is tried again, and the old token goes on until its end`() async throws {
        let endpoint = Endpoint()
        let source = try endpoint.source()
        _ = try await secret(source)
        endpoint.fails(.unreadable(status: 503))
        endpoint.now = Self.start + 3_400
        #expect(try await secret(source) == "token-1")
        try await eventually("the renewal was tried") { endpoint.asked == 2 }
        endpoint.now = Self.start + 3_600 - AccessToken.margin
        await #expect(throws: CredentialError.self) { try await secret(source) }
        endpoint.fails(nil)
        endpoint.now += 3
        #expect(try await secret(source) == "token-2")
    }

    @Test func `a refused token is replaced once for all lanes, and then the app halts`() async throws {
        let endpoint = Endpoint()
        let source = try endpoint.source()
        let first = try await onThread { try source.current() }
        for _ in 0..<3 {
            let next = try await onThread { try source.replacement(of: first, after: Self.unauthenticated) }
            #expect(next?.secret == "token-2")
        }
        let second = try await onThread { try source.current() }
        #expect(try await onThread { try source.replacement(of: second, after: Self.unauthenticated) } == nil)
        #expect(endpoint.made == 2)
        endpoint.now += AccessToken.leastAfterRefusal
        let third = try await onThread { try source.replacement(of: second, after: Self.unauthenticated) }
        #expect(third?.secret == "token-3")
        let denied = Rejection(status: 403, reason: "PERMISSION_DENIED", verdict: .haltApp)
        #expect(try await onThread { try source.replacement(of: second, after: denied) } == nil)
    }

    @Test func `an account that Google refuses halts the app, and an endpoint in trouble does not`() async throws {
        let endpoint = Endpoint()
        let source = try endpoint.source()
        endpoint.fails(.refused("invalid_grant", "Invalid JWT Signature."))
        let refused = await #expect(throws: CredentialError.self) { try await secret(source) }
        #expect(refused?.refusal == Rejection(status: 401, reason: "invalid_grant", verdict: .haltApp))
        #expect(refused?.description.contains("make another key file") == true)
        endpoint.fails(.unanswered("timeout"))
        #expect(endpoint.asked == 1)
        await #expect(throws: CredentialError.self) { try await secret(source) }
        #expect(endpoint.asked == 1, "other lanes do not ask again at once")
        endpoint.now += 3
        let silent = await #expect(throws: CredentialError.self) { try await secret(source) }
        #expect(silent?.refusal == nil && silent?.description.contains("timeout") == true)
    }

    @Test func `another account signs from the next token on, and no request waits for it`() async throws {
        let (endpoint, file) = (Endpoint(), try TestAccount())
        let accounts = LiveServiceAccount(try file.read())
        let source = try endpoint.source(of: accounts)
        #expect(try await secret(source) == "token-1")
        accounts.replace(with: try file.read())
        #expect(try await secret(source) == "token-1")
        #expect(endpoint.asked == 1, "the same file again asks for nothing")

        var other = file
        other.fields["client_email"] = "other@shop-1.iam.gserviceaccount.com"
        accounts.replace(with: try other.read())
        #expect(try await secret(source) == "token-1", "the old token goes on")
        try await eventually("the new account has a token") { try await secret(source) == "token-2" }
        #expect(endpoint.accounts == ["push@shop-1.iam.gserviceaccount.com", "other@shop-1.iam.gserviceaccount.com"])
        #expect(try await secret(source) == "token-2" && endpoint.asked == 2)
    }

    @Test func `the failures of an account do not count for the next one`() async throws {
        let (endpoint, file) = (Endpoint(), try TestAccount())
        let accounts = LiveServiceAccount(try file.read())
        let source = try endpoint.source(of: accounts)
        endpoint.fails(.refused("invalid_grant", "Invalid JWT Signature."))
        await #expect(throws: CredentialError.self) { try await secret(source) }
        endpoint.fails(nil)
        var other = file
        other.fields["private_key_id"] = "def456"
        accounts.replace(with: try other.read())
        #expect(try await secret(source) == "token-1")
        // Its refused token is replaced at once, although a token of the account before was replaced just now.
        let first = try await onThread { try source.current() }
        let second = try await onThread { try source.replacement(of: first, after: Self.unauthenticated) }
        #expect(second?.secret == "token-2")
        other.fields["private_key_id"] = "abc789"
        accounts.replace(with: try other.read())
        let third = try await onThread {
            try source.replacement(of: try #require(second), after: Self.unauthenticated)
        }
        #expect(third?.secret == "token-3")
    }

    @Test func `an account of another project is no replacement`() throws {
        var file = try TestAccount()
        let accounts = LiveServiceAccount(try file.read())
        file.fields["project_id"] = "shop-2"
        let error = #expect(throws: ServiceAccountError.self) { try accounts.check(try file.read()) }
        #expect(error?.description.contains("shop-2 instead of shop-1") == true)
    }

    /// A share without Redis: gives the stored token unless it is refused or near its end.
    private final class Share: AccessTokenShare {
        private let stored = Mutex<AccessToken?>(nil)

        func agree(
            key: String, candidate: AccessToken?, refused: AccessToken?, now: Int
        ) async -> AccessTokenAgreement {
            stored.withLock { stored in
                if let token = stored, token != refused, !token.isDue(at: now) { return .use(token) }
                guard let candidate else { return .none }
                stored = candidate
                return .use(candidate)
            }
        }
    }

    @Test func `two workers share one token, and its replacement`() async throws {
        let (endpoint, share) = (Endpoint(), Share())
        let (one, other) = (try endpoint.source(share), try endpoint.source(share))
        #expect(try await secret(one) == "token-1")
        #expect(try await secret(other) == "token-1")
        let refused = try await onThread { try one.current() }
        for source in [one, other] {
            let next = try await onThread { try source.replacement(of: refused, after: Self.unauthenticated) }
            #expect(next?.secret == "token-2")
        }
        #expect(endpoint.made == 2)
    }

    @Test func `the answers of the token endpoint are read or refused, each in words`() throws {
        func failure(_ status: Int, _ body: String) -> String {
            do throws(TokenExchangeError) {
                return "\(try TokenExchange.token(status: status, Array(body.utf8), now: Self.start))"
            } catch { return error.description }
        }
        let good = #"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#
        #expect(
            try TokenExchange.token(status: 200, Array(good.utf8), now: Self.start)
                == AccessToken(secret: "ya29.x", endsAt: Self.start + 3_599))
        let late = "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
        #expect(failure(400, #"{"error":"invalid_grant","error_description":"\#(late)"}"#).contains("clock"))
        let signature = #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#
        #expect(failure(400, signature).contains("make another key file"))
        #expect(failure(400, #"{"error":"invalid_grant"}"#).contains("disabled or deleted"))
        #expect(failure(400, #"{"error":"invalid_scope","error_description":"x"}"#).hasSuffix("invalid_scope (x)"))
        for (status, body) in [
            (502, "<html>"), (200, "{}"), (200, ""), (200, #"{"access_token":"a b","expires_in":1}"#),
            (200, #"{"access_token":"a","expires_in":0}"#), (500, good),
            (503, #"{"error":"internal_failure","error_description":"Backend Error"}"#),
            (429, #"{"error":"rate_limit_exceeded"}"#),
        ] {
            #expect(failure(status, body).contains("answered \(status) without an access token"), "\(body)")
        }
    }
}
