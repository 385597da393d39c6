import LiveActivity
import Store

/// A page's settlement. `finish` treats the three kinds alike, except for their scripts and for the work behind them
/// that a run does later, under its stream entry: timers and the outbox.
enum PageSettlement {
    /// New targets of a push, or channels of its catch-up.
    case sweep(Settlement, of: Claim)
    /// Waiting channels of a name.
    case retries(RetrySettlement, under: Lease)
    /// Answers to open requests of a push. They need no lease.
    case late(RetrySettlement, of: PushRecord)

    /// The answer of Redis to each kind.
    struct Answer: LeaseAnswer {
        /// False: another worker has the lease, or the push is gone. Nothing was written.
        var keepsLease = false
        /// Sweep: the part is finished.
        var endsLease = false
        /// Sweep: the push has failed or was cancelled.
        var isStopped = false
        /// Sweep: the work that is left after the part.
        var leftovers: Leftovers?
        /// Late: when the name's first waiting channel is due, epoch ms.
        var firstRetry: Int64?
    }

    /// The facts that `finish` needs of each kind.
    struct Facts {
        var work: [Platform: SettledWork]
        /// How many tokens expired, by push and platform.
        var expired: [PushID: [Platform: Int]]
        /// Pushes with something that is noted for an operator.
        var givenUp: Set<PushID>
        var removals: [PendingRemoval]
        /// The `end`s that were delivered.
        var ends: RetrySettlement
    }

    var facts: Facts {
        switch self {
        case .sweep(let page, let claim):
            let push = claim.lease.push
            return Facts(
                work: page.work,
                expired: page.expired > 0 ? [push: page.expiredByPlatform] : [:],
                givenUp: page.givesUp || page.mayStop ? [push] : [],
                removals: page.removals.map { PendingRemoval(push: push, removal: $0) },
                ends: RetrySettlement(ended: page.removals, of: push))
        case .retries(let page, _), .late(let page, _):
            return Facts(
                work: page.work, expired: page.expired, givenUp: page.givenUp, removals: page.removals,
                ends: page.delivered)
        }
    }

    /// Writes the settlement.
    /// - Parameter duration: how long the lease lasts from now on
    func write(
        _ sweeps: SweepStore, _ app: AppKey, _ name: ActivityName, for duration: Duration
    ) async throws(StoreError) -> Answer {
        let settled: RetrySettled
        switch self {
        case .sweep(let page, let claim):
            let answer = try await sweeps.settle(claim.lease, for: duration, page, of: claim.record)
            guard case .ok(let state, let isFinished, let leftovers) = answer else { return Answer() }
            return Answer(keepsLease: true, endsLease: isFinished, isStopped: state.isFinal, leftovers: leftovers)
        case .retries(let page, let lease): settled = try await sweeps.settle(lease, for: duration, page)
        case .late(let page, _): settled = try await sweeps.settleLate(app, name, page)
        }
        guard case .ok(let firstRetry) = settled else { return Answer() }
        return Answer(keepsLease: true, firstRetry: firstRetry)
    }

    /// When a worker must come back for the name's waiting channels, if this settlement has to see to that.
    func timer(_ answer: Answer, now: Int64) -> (priority: PushPriority, due: Int64)? {
        switch self {
        case .sweep(let page, let claim):
            // `followUp` of a finished part sets it.
            guard !answer.endsLease, let first = answer.leftovers?.firstRetry, page.needsTimer(first: first, now: now)
            else { return nil }
            return (claim.record.priority, first)
        // `sendRetries` sets it once, when the run is over.
        case .retries: return nil
        // The channels' next pushes may go out now.
        case .late(_, let record): return answer.firstRetry.map { (record.priority, $0) }
        }
    }
}
