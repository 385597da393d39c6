internal import Dispatch
internal import Glibc
internal import LiveActivity
internal import OpenSSL
internal import Synchronization

/// The provider token of one app, for all its lanes. It is signed when due, kept in between, and shared with other
/// processes if there is a share. A lane asks once per wake-up, not per request. Its calls block the lane's thread
/// while they ask the share: about once an hour, for at most `patience`. If Redis is silent for so long, workers cannot
/// settle anything either. Do not call them on the cooperative pool, because the share's answer needs its threads.
///
/// One key signs at a time: the first of the ring, until APNs refuses it (`takeOver`) or the ring gets other keys.
final class ProviderTokenSource: Sendable {
    /// A key of the ring with its tokens.
    private struct Slot {
        let key: APNsKey
        var rule = RenewalRule()
        var token: ProviderToken?
        /// The token before the current one, while it may still be good.
        var previous: ProviderToken?
        /// A new token that APNs called one too many. The token before it is used until then (epoch seconds).
        var postponed: (token: ProviderToken, until: Int)?
        /// When APNs refused the key (epoch seconds).
        var refusedAt: Int?
    }

    private struct State {
        var generation = -1
        var slots: [Slot] = []
        /// The index of the key that signs.
        var active = 0
        var slot: Slot {
            get { slots[active] }
            set { slots[active] = newValue }
        }
    }

    static let patience: Duration = .seconds(5)
    /// Seconds. A refused key is not tried again earlier. It is less than the pause of a halted app, so that the probe
    /// of an app whose keys were all refused tries each of them.
    static let refusalMemory = 10

    private let keys: APNsKeyRing
    private let share: (any ProviderTokenShare)?
    /// How long to wait for the share's answer.
    private let patience: Duration
    private let metrics: ProviderTokenMetrics
    /// Epoch seconds.
    private let now: @Sendable () -> Int
    private let state = Mutex(State())

    init(
        _ keys: APNsKeyRing, share: (any ProviderTokenShare)? = nil, patience: Duration = ProviderTokenSource.patience,
        metrics: ProviderTokenMetrics = ProviderTokenMetrics(app: ""),
        now: @escaping @Sendable () -> Int = { time(nil) }
    ) {
        self.keys = keys
        self.share = share
        self.patience = patience
        self.metrics = metrics
        self.now = now
    }

    /// The token to send with. Signing takes some 30 µs. It happens under the lock, so that no two lanes sign at once.
    func current() throws(SigningKeyError) -> ProviderToken {
        let now = now()
        return try state.withLock { state throws(SigningKeyError) in
            follow(&state)
            return try current(&state.slot, now)
        }
    }

    /// Replaces a token that APNs called expired.
    /// - Returns: a new token, or the current one if another lane or process renewed it; nil if the rule allows none
    func renew(ifCurrent rejected: ProviderToken) throws(SigningKeyError) -> ProviderToken? {
        let now = now()
        return try state.withLock { state throws(SigningKeyError) in
            follow(&state)
            guard state.slot.token == rejected else { return try current(&state.slot, now) }
            let own = state.slot.rule.mayFollowRejection(now: now) ? try state.slot.key.sign(at: now) : nil
            let token: ProviderToken?
            switch ask(state.slot.key, own, refused: rejected, now) {
            case .use(let shared) where isGood(shared, now): token = shared
            case .none: token = nil
            case .use, .unavailable: token = own
            }
            guard let token else { return nil }
            state.slot.previous = nil
            state.slot.postponed = nil
            adopt(&state.slot, token, .rejected)
            return token
        }
    }

    /// A key that signs in place of one that APNs refuses.
    struct TakeOver: Sendable {
        var token: ProviderToken
        /// The ids of the refused key and of the new one. Nil: another lane or a reload has changed the key already.
        var keyIDs: (refused: String, next: String)?
    }

    /// Leaves the key of a token that APNs refused for another reason than its age.
    /// - Returns: nil if there is no other key, or if APNs refused that a moment ago
    func takeOver(from rejected: ProviderToken) throws(SigningKeyError) -> TakeOver? {
        let now = now()
        return try state.withLock { state throws(SigningKeyError) in
            follow(&state)
            guard state.slot.token == rejected else {
                let token = try current(&state.slot, now)
                return token == rejected ? nil : TakeOver(token: token)
            }
            state.slot.refusedAt = now
            let order = (1..<max(1, state.slots.count)).map { (state.active + $0) % state.slots.count }
            let next = order.first { index in
                // A refusal that lies ahead is from before the clock was set back.
                state.slots[index].refusedAt.map { !(0..<Self.refusalMemory).contains(now - $0) } ?? true
            }
            guard let next else { return nil }
            let refused = state.slot.key.keyID
            let token = try current(&state.slots[next], now)
            state.active = next
            return TakeOver(token: token, keyIDs: (refused, state.slot.key.keyID))
        }
    }

    /// Takes the keys of the ring if they were replaced. A key that stays keeps its tokens. The first key signs, except
    /// that a key which took over from it goes on.
    private func follow(_ state: inout State) {
        let (keys, generation) = keys.current
        guard generation != state.generation else { return }
        let before = state
        state.generation = generation
        state.slots = keys.map { key in before.slots.first { $0.key.identity == key.identity } ?? Slot(key: key) }
        state.active = 0
        guard !before.slots.isEmpty, before.slots[0].key.identity == keys[0].identity else { return }
        state.active = state.slots.firstIndex { $0.key.identity == before.slot.key.identity } ?? 0
    }

    private func current(_ slot: inout Slot, _ now: Int) throws(SigningKeyError) -> ProviderToken {
        if let postponed = slot.postponed {
            let isNear = postponed.until - now <= RenewalRule.lastAge
            if let token = slot.token, now < postponed.until, isNear { return token }
            slot.postponed = nil
            adopt(&slot, postponed.token, .due)
        }
        if let token = slot.token, !slot.rule.isDue(now: now) { return token }
        let own = try slot.key.sign(at: now)
        let token =
            if case .use(let shared) = ask(slot.key, own, refused: nil, now), isGood(shared, now) { shared } else {
                own
            }
        slot.previous = slot.token
        adopt(&slot, token, .due)
        return token
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
            follow(&state)
            guard state.slot.token == rejected else { return state.slot.token }
            guard let previous = state.slot.previous, now - previous.issuedAt < RenewalRule.lastAge else { return nil }
            state.slot.postponed = (rejected, until: previous.issuedAt + RenewalRule.lastAge)
            state.slot.previous = nil
            adopt(&state.slot, previous, .fallback)
            return previous
        }
    }

    private func adopt(_ slot: inout Slot, _ token: ProviderToken, _ cause: ProviderTokenMetrics.RenewalCause) {
        slot.token = token
        slot.rule.didIssue(at: token.issuedAt, afterRejection: cause == .rejected)
        metrics.adopted(issuedAt: token.issuedAt, cause)
    }

    /// Whether another process's token is good by this process's clock.
    private func isGood(_ token: ProviderToken, _ now: Int) -> Bool {
        var rule = RenewalRule()
        rule.didIssue(at: token.issuedAt, afterRejection: false)
        return !rule.isDue(now: now)
    }

    private func ask(
        _ key: APNsKey, _ candidate: ProviderToken?, refused: ProviderToken?, _ now: Int
    ) -> ProviderTokenAgreement {
        guard let share else { return .unavailable }
        let reply = Reply()
        let key = key.identity
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
