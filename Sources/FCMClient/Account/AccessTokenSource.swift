internal import Delivery
internal import Dispatch
internal import Lanes
internal import LiveActivity
internal import Logging
internal import Synchronization

/// The access token of one app, for all its lanes. It is shared with other processes if there is a share. A token is
/// replaced five minutes before its end, and works until then, so no request waits for an early renewal. Without a good
/// token, or after a 401, the lane's thread waits for another one. Do not call it on the cooperative pool.
final class AccessTokenSource: CredentialSource {
    private struct State {
        var token: AccessToken?
        /// The generation of the account that the token is of, and of the account whose failures are noted here.
        var tokenGeneration = 0
        var generation = 0
        /// A renewal is on its way, and no lane waits for it.
        var isRenewing = false
        /// No early renewal before this time (epoch seconds), because the last one failed.
        var nextRenewal = Int.min
        /// When the current token replaced one that FCM had refused (epoch seconds).
        var replacedRefusedAt: Int?
        /// The newest failure, and when it came (epoch seconds).
        var failure: (error: CredentialError, at: Int)?
    }

    /// Seconds after which a failed early renewal is tried again.
    private static let renewalPause = 30
    /// Seconds for which a failure counts for all lanes, so that they do not ask one after the other.
    private static let failureMemory = 2

    typealias Exchange = @Sendable (ServiceAccount, Int) async throws(TokenExchangeError) -> AccessToken

    private let accounts: LiveServiceAccount
    private let exchange: Exchange
    private let share: (any AccessTokenShare)?
    private let logger: Logger
    /// Epoch seconds.
    private let now: @Sendable () -> Int
    private let state = Mutex(State())
    /// Held while a token is asked for.
    private let asking = Mutex(())

    init(
        _ accounts: LiveServiceAccount, share: (any AccessTokenShare)?, logger: Logger,
        now: @escaping @Sendable () -> Int, exchange: @escaping Exchange
    ) {
        (self.accounts, self.exchange, self.share, self.logger) = (accounts, exchange, share, logger)
        self.now = now
    }

    func current() throws(CredentialError) -> PlatformCredential {
        let now = now()
        noteAccount()
        let (token, renews) = state.withLock { state in
            guard let token = state.token, token.isGood(at: now) else { return (nil as AccessToken?, false) }
            let isDue = token.isDue(at: now) || state.tokenGeneration != state.generation
            let renews = isDue && !state.isRenewing && now >= state.nextRenewal
            if renews { state.isRenewing = true }
            return (token, renews)
        }
        if renews { renewInBackground(token) }
        if let token { return PlatformCredential(token) }
        return PlatformCredential(try asking.withLock { (_) throws(CredentialError) in try waiting(now) })
    }

    func replacement(
        of refused: PlatformCredential, after rejection: Rejection
    ) throws(CredentialError) -> PlatformCredential? {
        guard rejection.verdict == .renewCredential else { return nil }
        let now = now()
        noteAccount()
        let token: AccessToken? = try asking.withLock { (_) throws(CredentialError) in
            let (token, replacedAt) = state.withLock { ($0.token, $0.replacedRefusedAt) }
            guard let token, token.secret == refused.secret else { return token }
            if let replacedAt, (0..<AccessToken.leastAfterRefusal).contains(now - replacedAt) { return nil }
            let next = try obtain(refused: token, now)
            if let next { adopt(next, replacingRefused: true, now) }
            return next?.token
        }
        return token.map { PlatformCredential($0) }
    }

    /// Gets a token for lanes that have none. Another lane may have got it meanwhile.
    private func waiting(_ now: Int) throws(CredentialError) -> AccessToken {
        let (token, failure) = state.withLock { ($0.token, $0.failure) }
        if let token, token.isGood(at: now) { return token }
        if let failure, (0..<Self.failureMemory).contains(now - failure.at) { throw failure.error }
        do throws(CredentialError) {
            guard let obtained = try obtain(refused: nil, now) else {
                throw CredentialError(TokenExchangeError.unreadable(status: 200))
            }
            adopt(obtained, replacingRefused: false, now)
            return obtained.token
        } catch {
            state.withLock { $0.failure = (error, now) }
            throw error
        }
    }

    private func renewInBackground(_ old: AccessToken?) {
        DispatchQueue.global().async { [self] in
            let now = now()
            do throws(CredentialError) {
                let token = try asking.withLock { (_) throws(CredentialError) in try obtain(refused: nil, now) }
                if let token { adopt(token, replacingRefused: false, now) }
                state.withLock { $0.isRenewing = false }
            } catch {
                state.withLock { state in
                    state.isRenewing = false
                    state.nextRenewal = now + Self.renewalPause
                }
                logger.warning(
                    "an access token could not be renewed; the present one goes on until its end",
                    metadata: ["account": "\(accounts.current.clientEmail)", "error": "\(error)"])
            }
        }
    }

    /// Failures of an account that a reload has replaced say nothing about the new one.
    private func noteAccount() {
        let generation = accounts.versioned.generation
        state.withLock { state in
            guard state.generation != generation else { return }
            state.generation = generation
            (state.nextRenewal, state.replacedRefusedAt, state.failure) = (.min, nil, nil)
        }
    }

    private func adopt(_ obtained: (token: AccessToken, generation: Int), replacingRefused: Bool, _ now: Int) {
        state.withLock { state in
            (state.token, state.tokenGeneration) = obtained
            state.failure = nil
            if replacingRefused { state.replacedRefusedAt = now }
        }
    }

    /// Asks the other processes for a token, and Google if they have none.
    /// - Returns: nil if it is too early for another one after a refused one
    private func obtain(
        refused: AccessToken?, _ now: Int
    ) throws(CredentialError) -> (token: AccessToken, generation: Int)? {
        let answer = Reply<Result<AccessToken?, TokenExchangeError>>()
        let ((account, generation), share, exchange) = (accounts.versioned, share, exchange)
        Task { answer.give(await Self.obtain(refused: refused, now, account, share, exchange)) }
        do throws(TokenExchangeError) { return try answer.wait().get().map { ($0, generation) } } catch {
            throw CredentialError(error, refusal: error.refusal)
        }
    }

    private static func obtain(
        refused: AccessToken?, _ now: Int, _ account: ServiceAccount, _ share: (any AccessTokenShare)?,
        _ exchange: Exchange
    ) async -> Result<AccessToken?, TokenExchangeError> {
        func agree(_ candidate: AccessToken?) async -> AccessTokenAgreement {
            guard let share else { return .unavailable }
            return await share.agree(key: account.identity, candidate: candidate, refused: refused, now: now)
        }
        if case .use(let token) = await agree(nil), token.isGood(at: now), !token.isDue(at: now) {
            return .success(token)
        }
        do throws(TokenExchangeError) {
            let own = try await exchange(account, now)
            switch await agree(own) {
            case .use(let token): return .success(token.isGood(at: now) ? token : own)
            case .none: return .success(nil)
            case .unavailable: return .success(own)
            }
        } catch {
            return .failure(error)
        }
    }

    /// Hands an answer from a task to the thread that waits for it.
    private final class Reply<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)
        private let given = DispatchSemaphore(value: 0)

        func give(_ answer: Value) {
            value.withLock { $0 = answer }
            given.signal()
        }

        /// Blocks until the answer has come. The exchange and the share end in time by themselves.
        func wait() -> Value {
            while true {
                given.wait()
                if let answer = value.withLock({ $0 }) { return answer }
            }
        }
    }
}

extension TokenExchangeError {
    /// Google refuses the account itself, so the app halts until an operator has acted.
    fileprivate var refusal: Rejection? {
        guard case .refused(let word, _) = self else { return nil }
        return Rejection(status: 401, reason: String(word.prefix(64)), verdict: .haltApp)
    }
}

extension PlatformCredential {
    init(_ token: AccessToken) { self.init(scheme: "Bearer", secret: token.secret, issuedAt: token.endsAt) }
}
