import LiveActivity

/// Whom a push reached, in words. A push can be done and have reached hardly anybody.
extension LedgerAnswer {
    /// The share of the targets that APNs accepted, in percent. A broadcast channel is not counted, because APNs alone
    /// knows its subscribers. Nil: the push has no targets, and a broadcast channel got it.
    public var reached: Double? {
        guard outcomes.targets == 0 else { return Double(outcomes.delivered) * 100 / Double(outcomes.targets) }
        return broadcast?.state == "delivered" ? nil : 0
    }

    /// Whether more targets failed than got the push.
    public var mostlyFailed: Bool { outcomes.failed > outcomes.delivered }

    /// Whether more targets failed or came too late than got the push.
    public var mostlyMissed: Bool { outcomes.failed + outcomes.expired > outcomes.delivered }

    /// The state, and for a push that is over: whom it reached, unless the state says it.
    public var stateText: String {
        guard let reached, ["done", "failed", "expired", "superseded", "cancelled"].contains(state) else {
            return state
        }
        if reached == 0 { return state == "done" ? "done, reached nobody" : state }
        return state == "done" && reached == 100 ? state : "\(state), reached \(max(1, Int(reached))) %"
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
