internal import Glibc
internal import OpenSSL
internal import Synchronization

/// The provider token of one app, shared by all its lanes: signed when due, kept in between. A lane asks once per
/// wake-up, not per request.
final class ProviderTokenSource: Sendable {
    private struct State {
        var rule = RenewalRule()
        var token: ProviderToken?
    }

    private let keyID: String
    private let teamID: String
    private let key: P256SigningKey
    /// Epoch seconds.
    private let now: @Sendable () -> Int
    private let state = Mutex(State())

    init(
        keyID: String, teamID: String, key: P256SigningKey, now: @escaping @Sendable () -> Int = { time(nil) }
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.key = key
        self.now = now
    }

    /// The token to send with. Signing takes some 30 µs, under the lock, so that no two lanes sign at once.
    func current() throws(SigningKeyError) -> ProviderToken {
        let now = now()
        return try state.withLock { state throws(SigningKeyError) in
            if let token = state.token, !state.rule.isDue(now: now) { return token }
            return try issue(&state, now, afterRejection: false)
        }
    }

    /// APNs has called `rejected` expired. The token to repeat with: a new one, or the current one when another lane has
    /// renewed meanwhile; nil when the rule allows none.
    func renew(ifCurrent rejected: ProviderToken) throws(SigningKeyError) -> ProviderToken? {
        let now = now()
        return try state.withLock { state throws(SigningKeyError) in
            if let token = state.token, token != rejected { return token }
            guard state.rule.mayFollowRejection(now: now) else { return nil }
            return try issue(&state, now, afterRejection: true)
        }
    }

    private func issue(
        _ state: inout State, _ now: Int, afterRejection: Bool
    ) throws(SigningKeyError) -> ProviderToken {
        let token = try ProviderToken(keyID: keyID, teamID: teamID, issuedAt: now, key: key)
        state.token = token
        state.rule.didIssue(at: now, afterRejection: afterRejection)
        return token
    }
}
