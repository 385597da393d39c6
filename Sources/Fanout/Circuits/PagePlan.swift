import Delivery
import LiveActivity

/// Splits a page into parts by the routes of its entries, and puts the parts' outcomes together again. A token that one
/// environment calls bad goes to the other one, once. This is a value without I/O.
struct PagePlan: Sendable {
    /// Each entry has the route of its outcome. Answers of the other environment about credentials and topics concern
    /// that environment alone.
    private(set) var page: TokenPage
    /// The parts to send next, each of one route; empty when each entry has its outcome.
    private(set) var parts: [TokenPage]
    private(set) var outcome = PageOutcome()
    /// Indices of the entries that are sent. Nil: all of them.
    private let targets: [Int]?
    /// Indices of the entries that one environment calls bad, so that the other one is asked.
    private var moved: [Int] = []
    /// A part may still be sent to the environment that was not asked.
    private var asksOther: Bool

    /// - Parameters:
    ///   - platform: only the entries on this platform are sent; nil: the page is on one platform
    ///   - hasOther: the app is configured for both environments
    init(_ page: TokenPage, on platform: Platform? = nil, hasOther: Bool = false) {
        var page = page
        if !hasOther {
            for index in page.entries.indices where page[route: index].contains(.elsewhere) {
                page[route: index].remove(.elsewhere)
            }
        }
        targets = platform.map { platform in page.entries.indices.filter { page.entries[$0].platform == platform } }
        let isOnePart = targets == nil && page.entries.allSatisfy { $0.route == page.route }
        parts = isOnePart ? [page] : page.parts(targets ?? Array(page.entries.indices))
        self.page = page
        asksOther = hasOther
    }

    /// Adds the plan of the same page's entries on another platform. Both plans are done.
    mutating func add(_ other: PagePlan) {
        outcome += other.outcome
        moved += other.moved
        for index in other.targets ?? [] { page[route: index] = other.page[route: index] }
    }

    /// Indices of the entries that the other environment accepted after the first one had refused them.
    var found: [Int] {
        if moved.isEmpty { return [] }
        let others = Set(outcome.exceptions.map(\.index) + outcome.open)
        return moved.filter { page[route: $0].contains(.elsewhere) && !others.contains($0) }
    }

    /// Adds the outcomes of all `parts`.
    mutating func add(_ outcomes: [PageOutcome]) {
        for part in outcomes { outcome += part }
        parts = []
        guard asksOther else { return }
        asksOther = false
        moved = outcome.exceptions.filter(\.outcome.mayLiveElsewhere).map(\.index)
            .filter(page.entries.indices.contains)
        outcome.exceptions.removeAll(where: \.outcome.mayLiveElsewhere)
        for index in moved { page[route: index].formSymmetricDifference(.elsewhere) }
        parts = page.parts(moved)
    }
}

extension TokenPage {
    /// The route of a page whose entries have one route.
    var route: Entry.Route { entries.first?.route ?? [] }

    /// The entries at these indices in parts of one route each.
    fileprivate func parts(_ indices: [Int]) -> [TokenPage] {
        Dictionary(grouping: indices) { self[route: $0].rawValue }.sorted { $0.key < $1.key }.map { part($0.value) }
    }
}

extension PushOutcome {
    /// The token may live in the other environment.
    var mayLiveElsewhere: Bool {
        if case .rejected(let rejection) = self { rejection.mayLiveElsewhere } else { false }
    }
}
