public import LiveActivity

/// A publish that one person wants and another one has to approve, and its fate.
public struct Proposal: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, CaseIterable {
        case waiting
        /// Somebody approved it, and the publish is not accepted yet. The same person, or a gateway, goes on.
        case approved
        /// Somebody approved it, and its pushes or schedules are made.
        case published
        case rejected
        /// The proposal was taken back before anybody decided.
        case withdrawn
        /// The proposal was not decided in time.
        case lapsed
        /// Somebody approved it, and the publish was refused for good. `reason` says why.
        case failed
    }

    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case publish, schedule
        /// Another publish or another time for a schedule. The schedule goes on as it is until the approval.
        case replacement
    }

    /// A caller, as far as a proposal is concerned: a person, or all who have a credential.
    public struct Person: Sendable, Hashable {
        /// The person's identity, the same under each of the person's names. It is a digest, because Redis keeps it for
        /// days.
        public var identity: String
        public var publisher: Publisher

        public init(identity: String, publisher: Publisher) {
            self.identity = identity
            self.publisher = publisher
        }
    }

    public struct Decision: Sendable, Hashable {
        public var by: Person
        /// Epoch ms.
        public var at: Int64
        /// The condition in place of the proposal's own, because the person has seen a newer push. Nil: its own.
        public var after: AfterPush?
    }

    /// The dates of one of its pushes, from which the time follows at which the proposal lapses.
    public struct Due: Sendable, Hashable {
        public var publish: Publish
        /// The time at which it is to go out, epoch ms. Nil: as soon as it is approved.
        public var wanted: Int64?

        public init(_ publish: Publish, wanted: Int64?) { (self.publish, self.wanted) = (publish, wanted) }
    }

    /// The id of its first push, so that a repeated publish is the same proposal. A replacement has a fresh one: two of
    /// the same schedule are two proposals.
    public var id: PushID
    public var kind: Kind
    /// The ids of its pushes or its schedules. A replacement has the id of the schedule that it replaces.
    public var pushIDs: [PushID]
    /// The names of its pushes, each once.
    public var names: [ActivityName]
    /// The body of the request, as it was posted.
    public var body: [UInt8]
    /// The person who asks. The pushes are this person's.
    public var asker: Person
    /// Epoch ms.
    public var askedAt: Int64
    /// Epoch ms.
    public var lapses: Int64
    /// Each edit makes another one, so that an approval is for the publish that its person has seen.
    public var request: String
    public var state = State.waiting
    public var decision: Decision?
    /// Why it was rejected, as the person wrote it, or why it failed.
    public var reason: String?
    /// When it was over, epoch ms.
    public var endedAt: Int64?

    public init(
        id: PushID, kind: Kind, pushIDs: [PushID], names: [ActivityName], body: [UInt8], asker: Person, askedAt: Int64,
        lapses: Int64, request: String = UUIDBytes.random().description
    ) {
        (self.id, self.kind, self.pushIDs, self.names, self.body) = (id, kind, pushIDs, names, body)
        (self.asker, self.askedAt, self.lapses, self.request) = (asker, askedAt, lapses, request)
    }

    /// The one name of the pushes. Nil: they have several names.
    public var name: ActivityName? { names.count == 1 ? names.first : nil }

    /// When a proposal lapses, epoch ms: `life` after it was made, or after the time at which the first of its pushes
    /// is to go out. Once one of them is stale or over, nobody wants it any more.
    public static func lapse(of pushes: [Due], askedAt: Int64, after life: Duration) -> Int64 {
        pushes.map { push in
            let dates = [push.publish.staleDate, push.publish.options.expiry].compactMap(\.self)
                .map { Int64($0) * 1_000 }
            let end = max(askedAt, push.wanted ?? 0) + life.milliseconds
            return min(end, dates.filter { $0 > askedAt }.min() ?? .max)
        }.min() ?? askedAt + life.milliseconds
    }

    /// Why a person may not decide about it now. Nil: the person may.
    /// - Parameter request: the request that the person has seen. Nil: the present one.
    public func objection(to person: Person, request: String?, now: Int64) -> ProposalResult? {
        if state != .waiting { return .settled(self) }
        if asker.identity == person.identity { return .own }
        if let request, request != self.request { return .changed }
        return now >= lapses ? .lapsed : nil
    }
}

/// The answer to somebody who decides about a proposal.
public enum ProposalResult: Sendable, Hashable {
    /// The person's own decision counts, from this call or an earlier one.
    case decided(Proposal)
    /// The person who asked cannot decide.
    case own
    /// The proposal was edited after this person saw it.
    case changed
    case lapsed
    /// The proposal does not wait: another person has decided, or it is over.
    case settled(Proposal)
}
