import Delivery
import LiveActivity

/// Splits a page into parts, one for each variant of the push and each APNs environment, and puts the parts' outcomes
/// together again. A token that one environment calls bad goes to the other one, once. This is a value without I/O.
struct PagePlan: Sendable {
    struct Part: Sendable, Hashable {
        /// Indices of the page's entries, ascending.
        var indices: [Int]
        /// These entries get the variant of the push.
        var isVariant = false
        /// These entries go to the app's other environment.
        var isElsewhere = false
        /// The exchanges of this one entry are kept.
        var isTraced = false
    }

    /// The parts to send next; empty when each entry has its outcome.
    private(set) var parts: [Part]
    private(set) var outcome = PageOutcome()
    /// Indices of the entries that the other environment accepted. The first one refused them or was not asked.
    private(set) var found: [Int] = []
    /// Indices of the entries whose outcome came from the other environment. Its answers about credentials and topics
    /// concern that environment alone.
    private(set) var elsewhere: Set<Int> = []
    /// A part may still be sent to the environment that was not asked.
    private var asksOther: Bool

    /// - Parameters:
    ///   - count: how many entries the page has
    ///   - variant: indices of the entries that get the variant of the push
    ///   - elsewhere: indices of the entries that are known to live in the other environment
    ///   - traced: index of the entry whose exchanges are kept: it is a part of its own
    ///   - hasOther: the app is configured for both environments
    init(
        _ count: Int, variant: Set<Int> = [], elsewhere: Set<Int> = [], traced: Int? = nil, hasOther: Bool = false
    ) {
        asksOther = hasOther
        let elsewhere = hasOther ? elsewhere : []
        if variant.isEmpty, elsewhere.isEmpty, traced == nil {
            parts = [Part(indices: Array(0..<count))]
            return
        }
        parts = [false, true].flatMap { isElsewhere in
            [false, true].flatMap { isVariant in
                [false, true].map { isTraced in
                    Part(
                        indices: (0..<count).filter {
                            variant.contains($0) == isVariant && elsewhere.contains($0) == isElsewhere
                                && ($0 == traced) == isTraced
                        },
                        isVariant: isVariant, isElsewhere: isElsewhere, isTraced: isTraced)
                }
            }
        }.filter { !$0.indices.isEmpty }
    }

    /// The first entry alone, and the others.
    init(probing count: Int) {
        asksOther = false
        parts = [Part(indices: [0]), Part(indices: Array(1..<count))]
    }

    /// Adds the outcomes of all `parts`, in their order. The index of an exception is a position in its part.
    mutating func add(_ outcomes: [PageOutcome]) {
        var next: [Part] = []
        for (part, partOutcome) in zip(parts, outcomes) {
            outcome.accepted += partOutcome.accepted
            outcome.open += partOutcome.open.map { part.indices[$0] }
            outcome.late += partOutcome.late.map { $0.inside(part.indices) }
            var refused: Set<Int> = []
            var misplaced: [Int] = []
            for exception in partOutcome.exceptions where part.indices.indices.contains(exception.index) {
                let index = part.indices[exception.index]
                refused.insert(index)
                if asksOther, exception.outcome.mayLiveElsewhere {
                    misplaced.append(index)
                } else {
                    outcome.exceptions.append(.init(index: index, outcome: exception.outcome))
                }
            }
            if part.isElsewhere {
                elsewhere.formUnion(part.indices)
                elsewhere.subtract(misplaced)
                let open = Set(partOutcome.open.map { part.indices[$0] })
                found += part.indices.filter { !refused.contains($0) && !open.contains($0) }
            }
            if !misplaced.isEmpty {
                next.append(
                    Part(
                        indices: misplaced, isVariant: part.isVariant, isElsewhere: !part.isElsewhere,
                        isTraced: part.isTraced))
            }
        }
        asksOther = false
        parts = next
        outcome.exceptions.sort { $0.index < $1.index }
        outcome.open.sort()
        found.sort()
    }
}

extension PushOutcome {
    /// The token may live in the other environment.
    var mayLiveElsewhere: Bool {
        if case .rejected(let rejection) = self { rejection.mayLiveElsewhere } else { false }
    }
}

extension PushTransport {
    /// Sends a part of a page. The index of an exception is a position in the part.
    func sendPart(
        _ part: PagePlan.Part, of page: TokenPage, _ push: Push, while permission: any SendPermission,
        _ handover: Handover?
    ) async -> PageOutcome {
        if part.indices.isEmpty { return PageOutcome() }
        if part.indices.count == page.count { return await send(page, push, while: permission, handover) }
        let wanted = Set(part.indices)
        return await send(page.filtered(wanted.contains), push, while: permission, handover)
    }
}
