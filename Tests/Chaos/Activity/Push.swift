/// One accepted publish, as its publisher knows it.
struct Push: Sendable {
    var id: String
    var name: Int
    /// The number in its content state. It rises by one with each publish of a name.
    var number: Int
    var isEnd: Bool
    var isStart = false
    /// Whether a newer push may supersede it.
    var mayBeReplaced = false
    var audience: Audience
    /// Epoch ms before its first request was sent.
    var asked: Int64
    /// The last epoch ms at which its sweep was certainly not over. Channels that followed before then must be reached.
    var underWay: Int64
    var ledger: Ledger?
    /// Whether it expires after some seconds.
    var expires = false
    var fate = Fate.kept

    enum Fate: Sendable {
        case kept
        /// The publisher cancelled it, before it was over or afterwards.
        case cancelled
        /// A schedule that was deleted before its time, so nothing of it is sent.
        case deleted
        /// A schedule that was made after the time of another one, so their order is unknown.
        case unordered
        /// A schedule whose time came while its name ended or started. The name may have refused it.
        case raced
        /// A stopped push that an operator dropped.
        case dropped
    }

    /// Whether cards must show this push at the end, or a newer one.
    var mustBeShown: Bool {
        guard fate == .kept, !isEnd, !isStart else { return false }
        return !expires || ledger.map { $0["expired"] == 0 && $0.state != "expired" } ?? true
    }

    var title: String { "chaos-\(name)/\(number)" }
}
