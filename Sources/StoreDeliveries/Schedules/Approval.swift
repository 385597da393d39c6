public import LiveActivity

/// Which publishes of a caller with the scope `propose` wait for a second person. The event alone decides: counts of
/// devices change while somebody thinks, and a rule about them is passed by sending in parts.
public enum ApprovalRule: String, Sendable, Hashable, CaseIterable {
    case all
    case startsAndEnds = "starts_and_ends"
    case ends

    public func covers(_ event: ActivityEvent) -> Bool {
        switch self {
        case .all: true
        case .startsAndEnds: event != .update
        case .ends: event == .end
        }
    }
}

/// The request of one person that another one lets a publish go out, and what became of it.
public struct Approval: Sendable, Hashable {
    /// A caller, as far as a request is concerned: a person, or all who have a credential.
    public struct Person: Sendable, Hashable {
        /// The same for the same person, under whatever name. A digest, because Redis keeps it for days.
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

        public init(by: Person, at: Int64) {
            self.by = by
            self.at = at
        }
    }

    /// The most characters of a reason to reject, of four bytes each at most.
    public static let mostReason = 250

    /// Each edit makes another one, so that an approval is for the publish that its person has seen.
    public var request: String
    /// The identity of the person who asks. The schedule's publish has the rest.
    public var asker: String
    /// Epoch ms.
    public var askedAt: Int64
    /// The time at which it is to go out, epoch ms. Nil: as soon as it is approved.
    public var wanted: Int64?
    public var decision: Decision?

    public init(
        request: String = UUIDBytes.random().description, asker: String, askedAt: Int64, wanted: Int64? = nil,
        decision: Decision? = nil
    ) {
        (self.request, self.asker, self.askedAt) = (request, asker, askedAt)
        (self.wanted, self.decision) = (wanted, decision)
    }

    /// When the request lapses, epoch ms: `life` after it was made, or after the time at which it is to go out. Once
    /// the publish is stale or over, nobody wants it any more.
    public func lapse(of publish: Publish, after life: Duration) -> Int64 {
        let dates = [publish.staleDate, publish.options.expiry].compactMap(\.self).map { Int64($0) * 1_000 }
        return min(max(askedAt, wanted ?? 0) + life.milliseconds, dates.filter { $0 > askedAt }.min() ?? .max)
    }
}

/// The answer to somebody who decides about a request.
public enum ApprovalResult: Sendable, Hashable {
    /// As this person has decided, now or in an earlier call.
    case decided(Schedule)
    /// The person who asked cannot decide.
    case own
    /// The publish was changed after this person saw it.
    case changed
    case lapsed
    /// It does not wait for approval: another person has decided, or it is over, or it never did.
    case settled(Schedule)
}
