/// Reasons with their shares, ordered by name, so that a drawn number always means the same reason.
struct ReasonShares: Sendable {
    private var shares: [(reason: Reason, share: Double)] = []

    init(_ shares: [String: Double] = [:]) {
        self.shares = shares.sorted { $0.key < $1.key }.compactMap { name, share in
            Reason(rawValue: name).map { ($0, share) }
        }
    }

    var total: Double { shares.reduce(0) { $0 + $1.share } }
    var last: Reason? { shares.last?.reason }

    /// The reason into whose share the number falls. Nil if it is above all shares.
    func reason(at number: Double) -> Reason? {
        var rest = number
        return shares.first { entry in
            rest -= entry.share
            return rest < 0
        }?.reason
    }
}
