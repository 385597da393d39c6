import LiveActivity
import Store
import Synchronization

/// State that the pages of one sweep or of one run of retries share.
final class RunState: Sendable {
    /// When channels on a platform that can take nothing now become waiting channels, so that the run goes on without
    /// them: nobody waits for another platform (docs/adr/0061-android-on-one-name.md).
    enum Parking {
        /// The run pauses.
        case never
        /// Once another push of the name waits for the end of the sweep.
        case ifOthersWait
        case always
    }

    struct Values {
        var parking = Parking.never
        /// The lease is lost, or Redis did not answer while it lasted.
        var isLost = false
        /// How long the run pauses, because the app's circuit is open or nothing could be sent.
        var pause: Duration?
        /// How many tokens expired, by push and platform.
        var expired: [PushID: [Platform: Int]] = [:]
        /// How many pages were sent by a task that was taken over.
        var pages = 0
        /// Sweep: at most about so many tokens are read for a page; fewer once many channels of a page join queues.
        var mostTokens = Int.max
        /// Sweep: the push has failed or was cancelled.
        var isStopped = false
        /// Sweep: another push of the name waits for the end of this one's sweep.
        var othersWait = false
        /// Sweep: what is left to do after the finished part.
        var leftovers: Leftovers?
        /// Retries: the channels that are in a page of this run.
        var inPages: Set<[UInt8]> = []
        /// The pushes of which this run delivered a token.
        var reached: Set<PushID> = []
        /// The platforms that refuse a push for several, and why, as far as this run knows.
        var refusals: [PushID: [Platform: String]] = [:]
        /// The pushes of pages that were sent and not settled.
        var unsettled: Set<PushID> = []

        /// How long a page may wait for its platform's turn. Nil: as long as it takes. A platform that is at its pace
        /// has no turn at once.
        var patience: Duration? {
            switch parking {
            case .never: nil
            case .ifOthersWait: othersWait ? .zero : nil
            case .always: TurnWait.near
            }
        }
        var parks: Bool { patience != nil }
        var goesOn: Bool { !isLost && pause == nil && !isStopped && leftovers == nil }

        /// Notes what Redis said when a page was settled.
        mutating func note(_ answer: PageSettlement.Answer, expired: [PushID: [Platform: Int]]) {
            self.expired.merge(expired) { $0.merging($1, uniquingKeysWith: +) }
            if let unswept = answer.leftovers?.unswept { othersWait = unswept > 1 }
            if answer.endsLease { leftovers = answer.leftovers } else if answer.isStopped { isStopped = true }
        }

        /// Notes the platforms that refuse a push, so that the run sends it no more pages.
        mutating func refuse(_ push: PushID, _ found: [Platform: String]) {
            refusals[push, default: [:]].merge(found) { first, _ in first }
        }

        /// Notes that a page of the push was delivered.
        /// - Returns: whether its tokens are the first that the push reached, as far as this run knows
        mutating func reach(_ record: PushRecord) -> Bool {
            reached.insert(record.id).inserted && record.deliveredSoFar == 0
        }
    }

    private let state = Mutex(Values())

    var values: Values { state.withLock { $0 } }
    func change<Result: Sendable>(_ body: (inout Values) -> Result) -> Result { state.withLock { body(&$0) } }
    func reach(_ record: PushRecord) -> Bool { state.withLock { $0.reach(record) } }
}
