import LiveActivity

/// Whom a push reached, in words. A push can be done and have reached hardly anybody.
extension LedgerAnswer {
    /// The share of the targets that APNs accepted, in percent. A broadcast channel is not counted, because APNs alone
    /// knows its subscribers. Nil: the push has no targets, and a broadcast channel got it.
    public var reached: Double? {
        guard outcomes.targets == 0 else { return Double(outcomes.delivered) * 100 / Double(outcomes.targets) }
        return broadcast?.state == "delivered" ? nil : 0
    }

    /// Targets that should have the push and do not: it failed for them, or expired before it went to them.
    public var missed: Int { outcomes.failed + outcomes.expired }

    /// Whether the push missed more targets than got it.
    public var mostlyMissed: Bool { missed > outcomes.delivered }

    public var isFinal: Bool { !["scheduled", "queued", "sending"].contains(state) }

    /// The one account of a push in a few words: its state, whom it reached, and for one that reached nobody why.
    ///
    /// A push that failed may have reached all but one target, and a push that is done may have reached nobody.
    public var stateText: String {
        guard isFinal, let reached else { return state }
        guard reached > 0 else {
            // The newer push is on its way in its place.
            if state == "superseded" { return state }
            return "\(state), reached nobody" + (mainLoss.map { ": \($0)" } ?? "")
        }
        if reached == 100 { return state == "done" ? state : "\(state), reached everybody" }
        return "\(state), reached \(Self.percent(reached)) %"
    }

    /// The outcome of most targets without the push.
    private var mainLoss: String? {
        let losses = SettledField.allCases.filter { $0 != .delivered && outcomes[$0] > 0 }
        guard let most = losses.max(by: { outcomes[$0] < outcomes[$1] }) else { return nil }
        // The state says it already.
        return most.rawValue == state ? nil : most.rawValue
    }

    /// Rounds down, so that 100 is said of no push that missed somebody.
    private static func percent(_ reached: Double) -> String {
        reached > 99 ? "\(Double(Int(reached * 10)) / 10)" : "\(max(1, Int(reached)))"
    }

    /// Targets with an outcome.
    public var settled: Int { outcomes.targets - outcomes.pending }

    /// The time until `whole` targets have an outcome, in words. Nil: nothing can be said.
    /// - Parameter rate: targets a second
    public func timeLeft(of whole: Int, rate: Double) -> String? {
        guard rate >= 1, whole > settled else { return nil }
        let seconds = Double(whole - settled) / rate
        switch seconds {
        case ..<10: return "a few seconds left"
        case ..<60: return "about \(Int((seconds / 10).rounded(.up)) * 10) s left"
        case ..<7_200: return "about \(Int((seconds / 60).rounded(.up))) min left"
        default: return "about \(Int((seconds / 3_600).rounded(.up))) h left"
        }
    }
}
