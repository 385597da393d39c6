internal import Dispatch
internal import Glibc
internal import LiveActivity
internal import OpenSSL
internal import Synchronization

/// The provider token of one app, for all its lanes. It is signed when due, kept in between, and shared with other
/// processes if there is a share. A lane asks once per wake-up, not per request. Its calls block the lane's thread
/// while they ask the share: about once an hour, for at most `patience`. If Redis is silent for so long, workers cannot
/// settle anything either. Do not call them on the cooperative pool, because the share's answer needs its threads.
final class ProviderTokenSource: Sendable {
    private struct State {
        var rule = RenewalRule()
        var token: ProviderToken?
        /// The token before the current one, while it may still be good.
        var previous: ProviderToken?
        /// A new token that APNs called one too many. The token before it is used until then (epoch seconds).
        var postponed: (token: ProviderToken, until: Int)?
    }

    static let patience: Duration = .seconds(5)

    private let keyID: String
    private let teamID: String
    private let key: P256SigningKey
    private let share: (any ProviderTokenShare)?
    /// How long to wait for the share's answer.
    private let patience: Duration
    private let metrics: LaneMetrics
    /// Names the signing key to the share.
    private let identity: String
    /// Epoch seconds.
    private let now: @Sendable () -> Int
    private let state = Mutex(State())

    init(
        keyID: String, teamID: String, key: P256SigningKey, share: (any ProviderTokenShare)? = nil,
        patience: Duration = ProviderTokenSource.patience, metrics: LaneMetrics = LaneMetrics(app: ""),
        now: @escaping @Sendable () -> Int = { time(nil) }
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        self.share = share
        self.patience = patience
        self.metrics = metrics
        self.now = now
        identity = "\(teamID).\(keyID).\((try? key.fingerprint()) ?? "")"
    }

    /// The token to send with. Signing takes some 30 µs. It happens under the lock, so that no two lanes sign at once.
    func current() throws(SigningKeyError) -> ProviderToken {
        let now = now()
        return try state.withLock { state throws(SigningKeyError) in
            if let postponed = state.postponed {
                if let token = state.token, now < postponed.until { return token }
                state.postponed = nil
                adopt(&state, postponed.token, .due)
            }
            if let token = state.token, !state.rule.isDue(now: now) { return token }
            let own = try sign(now)
            let token =
                if case .use(let shared) = ask(own, refused: nil, now), isGood(shared, now) { shared } else { own }
            state.previous = state.token
            adopt(&state, token, .due)
            return token
        }
    }

    /// Replaces a token that APNs called expired.
    /// - Returns: a new token, or the current one if another lane or process renewed it; nil if the rule allows none
    func renew(ifCurrent rejected: ProviderToken) throws(SigningKeyError) -> ProviderToken? {
        let now = now()
        return try state.withLock { state throws(SigningKeyError) in
            if let token = state.token, token != rejected { return token }
            let own = state.rule.mayFollowRejection(now: now) ? try sign(now) : nil
            let token: ProviderToken?
            switch ask(own, refused: rejected, now) {
            case .use(let shared) where isGood(shared, now): token = shared
            case .none: token = nil
            case .use, .unavailable: token = own
            }
            guard let token else { return nil }
            state.previous = nil
            state.postponed = nil
            adopt(&state, token, .rejected)
            return token
        }
    }

    /// Runs one of the calls above on a thread that may block, for callers on the cooperative pool.
    func waiting<Value: Sendable>(
        _ call: @escaping @Sendable (ProviderTokenSource) throws(SigningKeyError) -> Value
    ) async throws(SigningKeyError) -> Value {
        let result: Result<Value, SigningKeyError> = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(SigningKeyError) in try call(self) })
            }
        }
        return try result.get()
    }

    /// Goes back to the token before `rejected`, because APNs answered TooManyProviderTokenUpdates.
    /// - Returns: the token to repeat with; nil if no earlier one is good, so the requests have to wait
    func fallBack(from rejected: ProviderToken) -> ProviderToken? {
        let now = now()
        return state.withLock { state in
            if let token = state.token, token != rejected { return token }
            guard let previous = state.previous, now - previous.issuedAt < RenewalRule.lastAge else { return nil }
            state.postponed = (rejected, until: previous.issuedAt + RenewalRule.lastAge)
            state.previous = nil
            adopt(&state, previous, .fallback)
            return previous
        }
    }

    private func adopt(_ state: inout State, _ token: ProviderToken, _ cause: LaneMetrics.RenewalCause) {
        state.token = token
        state.rule.didIssue(at: token.issuedAt, afterRejection: cause == .rejected)
        metrics.adoptedToken(issuedAt: token.issuedAt, cause)
    }

    private func sign(_ now: Int) throws(SigningKeyError) -> ProviderToken {
        try ProviderToken(keyID: keyID, teamID: teamID, issuedAt: now, key: key)
    }

    /// Whether another process's token is good by this process's clock.
    private func isGood(_ token: ProviderToken, _ now: Int) -> Bool {
        var rule = RenewalRule()
        rule.didIssue(at: token.issuedAt, afterRejection: false)
        return !rule.isDue(now: now)
    }

    private func ask(_ candidate: ProviderToken?, refused: ProviderToken?, _ now: Int) -> ProviderTokenAgreement {
        guard let share else { return .unavailable }
        let reply = Reply()
        let key = identity
        Task { reply.give(await share.agree(key: key, candidate: candidate, refused: refused, now: now)) }
        return reply.wait(patience)
    }

    /// Hands an answer from a task to the thread that waits for it.
    private final class Reply: Sendable {
        private let value = Mutex(ProviderTokenAgreement.unavailable)
        private let given = DispatchSemaphore(value: 0)

        func give(_ agreement: ProviderTokenAgreement) {
            value.withLock { $0 = agreement }
            given.signal()
        }

        /// Blocks until the answer has come or `limit` has passed, which makes it `unavailable`.
        func wait(_ limit: Duration) -> ProviderTokenAgreement {
            let milliseconds = Int(limit / .milliseconds(1))
            guard given.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return .unavailable }
            return value.withLock { $0 }
        }
    }
}

extension ProviderToken {
    /// Signs a token in Apple's form: header `alg` and `kid`, claims `iss` and `iat`, the latter a number. The
    /// configuration check allows only letters and digits in `keyID` and `teamID`, so nothing needs escaping.
    init(keyID: String, teamID: String, issuedAt: Int, key: P256SigningKey) throws(SigningKeyError) {
        let header = Base64.encodeURL(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8)
        let claims = Base64.encodeURL(#"{"iss":"\#(teamID)","iat":\#(issuedAt)}"#.utf8)
        let signature = try key.es256(Array("\(header).\(claims)".utf8))
        self.init(jwt: "\(header).\(claims).\(Base64.encodeURL(signature))", issuedAt: issuedAt)
    }
}
