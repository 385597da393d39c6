/// Decides when a provider token is replaced. Apple allows one new token in 20 minutes (else 429
/// TooManyProviderTokenUpdates) and wants one at least every 60 minutes (else 403 ExpiredProviderToken).
struct RenewalRule: Sendable, Hashable {
    /// Seconds. A token's `iat` is that much before it is signed. Apple refuses tokens from the future, and our clock
    /// may be ahead of Apple's; it takes old ones for an hour.
    static let backdating = 15 * 60
    /// Seconds from its signing. It leaves ten minutes of Apple's hour for a clock that is behind, and for requests
    /// that wait with their header made.
    static let renewalAge = 35 * 60
    static let minimumAge = 20 * 60
    /// Seconds. A token may be used up to this age when APNs refuses its successor as one too many.
    static let lastAge = 43 * 60
    /// Seconds. If the clock was set back by more, the token is replaced: it may be one from the future.
    static let clockTolerance = 60

    private(set) var issuedAt: Int?
    /// The current token replaced one that APNs called expired.
    private(set) var followedRejection = false

    /// Whether a new token is due because of its age. `now` is in epoch seconds.
    func isDue(now: Int) -> Bool {
        guard let issuedAt else { return true }
        return now - issuedAt >= Self.renewalAge || issuedAt - now > Self.clockTolerance
    }

    /// Whether a token that APNs calls expired is replaced now. This happens only once in 20 minutes. If APNs calls the
    /// new token expired too, a clock is wrong, and APNs would punish a renewal after each answer.
    func mayFollowRejection(now: Int) -> Bool {
        guard let issuedAt, followedRejection, issuedAt - now <= Self.clockTolerance else { return true }
        return now - issuedAt >= Self.minimumAge
    }

    mutating func didIssue(at now: Int, afterRejection: Bool) {
        issuedAt = now
        followedRejection = afterRejection
    }
}
