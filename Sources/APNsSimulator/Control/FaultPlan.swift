/// The reasons that a service gives for a rejection, as faults name them.
protocol ReasonTable: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// The reasons that make an address dead. The first is the default.
    static var dead: [Self] { get }
    /// Three reasons for an error's text.
    static var examples: String { get }
    /// Whether addresses can begin with the text.
    static func isPrefix(_ text: String) -> Bool
    /// The rule in the error for a text that is no prefix.
    static var prefixText: String { get }
    /// Fields of `faults` that have a value although this service does not know them.
    static func unknownFields(_ faults: Faults) -> [String]
}

extension Reason: ReasonTable {
    static let examples = "TooManyRequests, InternalServerError, ServiceUnavailable"
    static let prefixText = "is not lowercase hex"

    static func isPrefix(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { Hexadecimal.nibble($0) != nil && !(65...70).contains($0) }
    }

    static func unknownFields(_ faults: Faults) -> [String] {
        [
            ("reorder_share", faults.reorderShare > 0), ("reorder_ms", faults.reorderDelay > 0),
            ("token_error", faults.tokenError != nil),
        ].filter(\.1).map(\.0)
    }
}

/// Faults in the form in which each request looks them up.
struct FaultPlan<Table: ReasonTable>: Sendable {
    var faults: Faults
    let rejections: ReasonShares<Table>
    let broadcastRejections: ReasonShares<Table>
    let manageRejections: ReasonShares<Table>
    let rejectAll: Table?
    private let deadReasons: ReasonShares<Table>
    private let stalled: AddressPrefixes
    private let slow: AddressPrefixes

    init(_ faults: Faults) {
        self.faults = faults
        rejections = ReasonShares(faults.rejections)
        broadcastRejections = ReasonShares(faults.broadcastRejections)
        manageRejections = ReasonShares(faults.manageRejections)
        rejectAll = faults.rejectAll.flatMap { Table(rawValue: $0) }
        deadReasons = ReasonShares(faults.deadReasons)
        stalled = AddressPrefixes(faults.stallTokens)
        slow = AddressPrefixes(faults.slowTokens)
    }

    /// Whether `orders` needs the address of a request.
    var knowsAddresses: Bool { !stalled.isEmpty || !slow.isEmpty }

    /// The fault with which a connection begins after its TLS handshake.
    func greet() -> Orders.Fault? {
        if faults.closeAfter == 0 { return .close }
        if faults.goawayAfter == 0 { return .goaway(.graceful, reason: faults.goawayReason) }
        return faults.silence == .beforeHTTP2 ? .freeze : nil
    }

    /// The faults to produce before a request is checked.
    /// - Parameters:
    ///   - number: of the request on its connection, from 1
    ///   - connection: its number, from 1
    ///   - latency: draws a number in 0..<1
    func orders(number: Int, connection: Int, address: Substring, latency: () -> Double) -> Orders {
        var orders = Orders()
        if let limit = faults.closeAfter, number >= limit { orders.connection = .close }
        if let limit = faults.freezeAfter, number > limit { orders.connection = .freeze }
        if let limit = faults.goawayAfter, number >= limit {
            orders.connection = .goaway(faults.goawayMode, reason: faults.goawayReason)
        }
        if let limit = faults.stallAfter, number > limit { orders.stalls = true }
        if !faults.settings.isEmpty { orders.streams = faults.settings.last { $0.afterRequests == number }?.streams }
        orders.dropsOnRejection = faults.settingsDropOnRejection
        if faults.latency > 0 || faults.latencyJitter > 0 {
            orders.latency = faults.latency + faults.latencyJitter * latency()
        }
        if let every = faults.slowEvery, (connection - 1).isMultiple(of: every) { orders.latency += faults.slowLatency }
        if stalled.match(address) { orders.stalls = true }
        if slow.match(address) { orders.latency += faults.slowTokenLatency }
        return orders
    }

    /// The fault that a valid request for an address meets. Nil: it is accepted.
    /// - Parameters:
    ///   - address: as faults write it
    ///   - hash: of the address
    ///   - attempt: how many requests for it came before
    /// - Returns: `since`: when a dead address died, milliseconds since 1970
    func fate(of address: String, hash: UInt64, attempt: Int, seed: UInt64) -> (reason: Table, since: Int?)? {
        if let refused = faults.refusedTokens.first(where: { address.hasPrefix($0.prefix) }),
            let reason = Table(rawValue: refused.reason)
        {
            return (reason, nil)
        }
        let dead = faults.deadTokens.first { address.hasPrefix($0.prefix) }
        if dead != nil || faults.deadShare > 0 && RandomDecision.dead(seed: seed, hash) < faults.deadShare {
            let number = RandomDecision.deadReason(seed: seed, hash) * deadReasons.total
            let reason =
                dead?.reason.flatMap { Table(rawValue: $0) } ?? deadReasons.reason(at: number) ?? deadReasons.last
                ?? Table.dead[0]
            return (reason, dead?.since ?? faults.deadSince)
        }
        return rejections.reason(at: RandomDecision.rejection(seed: seed, hash, attempt: attempt)).map { ($0, nil) }
    }

    /// Whether a request ends without an answer, and whether the device gets its push anyway.
    /// - Parameter stallsHere: a fault of the connection or of the address stalls it
    func disturb(_ hash: UInt64, attempt: Int, stallsHere: Bool, seed: UInt64) -> (Disturbance, delivers: Bool)? {
        if faults.resetShare > 0, RandomDecision.reset(seed: seed, hash, attempt: attempt) < faults.resetShare {
            return (.reset(faults.resetCode), faults.resetDelivers)
        }
        if stallsHere
            || faults.stallShare > 0 && RandomDecision.stall(seed: seed, hash, attempt: attempt) < faults.stallShare
        {
            return (.stalled, faults.stallDelivers)
        }
        return nil
    }

    enum Disturbance { case reset(ResetCode), stalled }
}

/// Reasons with their shares, ordered by name, so that a drawn number always means the same reason.
struct ReasonShares<Table: ReasonTable>: Sendable {
    private let shares: [(reason: Table, share: Double)]

    init(_ shares: [String: Double]) {
        self.shares = shares.sorted { $0.key < $1.key }.compactMap { name, share in
            Table(rawValue: name).map { ($0, share) }
        }
    }

    var total: Double { shares.reduce(0) { $0 + $1.share } }
    var last: Table? { shares.last?.reason }

    /// The reason into whose share the number falls. Nil if it is above all shares.
    func reason(at number: Double) -> Table? {
        var rest = number
        return shares.first { entry in
            rest -= entry.share
            return rest < 0
        }?.reason
    }
}

/// The beginnings of addresses. An address is looked up in about the same time among one as among thousands.
struct AddressPrefixes: Sendable {
    /// The prefixes by their length in bytes.
    private let prefixes: [Int: Set<Substring>]

    init(_ prefixes: [String]) {
        self.prefixes = Dictionary(grouping: prefixes.map { $0[...] }) { $0.utf8.count }.mapValues { Set($0) }
    }

    var isEmpty: Bool { prefixes.isEmpty }

    func match(_ address: Substring) -> Bool {
        prefixes.contains { length, prefixes in prefixes.contains(Substring(address.utf8.prefix(length))) }
    }
}
