import APNsClient
import APNsWire
import LiveActivity
import Store

extension PushRecord {
    /// The push at priority 5, and the indices of the entries that get it. The other entries get the push at its own
    /// priority. Nil unless the budget demotes only the devices that have frequent pushes switched off.
    func lowered(_ page: TokenPage, _ push: PreparedPush) -> (push: PreparedPush, entries: Set<Int>)? {
        guard demotion == .infrequent else { return nil }
        var low = push
        low.headers.priority = .low
        return (low, Set(page.entries.indices.filter { page.entries[$0].isInfrequent }))
    }

    /// How many entries of a page get the push at a lower priority than its publisher asked for.
    func demoted(_ page: TokenPage) -> Int {
        switch demotion {
        case nil: 0
        case .all: page.count
        case .infrequent: page.entries.count { $0.isInfrequent }
        }
    }
}

extension Environments {
    /// Sends a page in two parts, side by side, if some entries get another push.
    /// - Parameter apart: the other push and the indices of its entries
    func send(
        _ page: TokenPage, _ push: PreparedPush, known: Set<Int>, apart: (push: PreparedPush, entries: Set<Int>)?,
        while permission: any SendPermission
    ) async -> Delivery {
        guard let apart, !apart.entries.isEmpty else { return await send(page, push, known: known, while: permission) }
        let (other, entries) = apart
        if entries.count == page.count { return await send(page, other, known: known, while: permission) }
        async let most = send(page, push, known, page.entries.indices.filter { !entries.contains($0) }, permission)
        async let others = send(page, other, known, entries.sorted(), permission)
        var delivery = await most
        let rest = await others
        delivery.outcome.accepted += rest.outcome.accepted
        delivery.outcome.duplicatesPossible += rest.outcome.duplicatesPossible
        delivery.outcome.exceptions += rest.outcome.exceptions
        delivery.outcome.exceptions.sort { $0.index < $1.index }
        delivery.found = (delivery.found + rest.found).sorted()
        delivery.elsewhere.formUnion(rest.elsewhere)
        return delivery
    }

    /// Sends a part of the page. The indices of the result are those of the whole page.
    private func send(
        _ page: TokenPage, _ push: PreparedPush, _ known: Set<Int>, _ indices: [Int], _ permission: any SendPermission
    ) async -> Delivery {
        let wanted = Set(indices)
        let knownInPart = Set(indices.indices.filter { known.contains(indices[$0]) })
        var delivery = await send(page.filtered(wanted.contains), push, known: knownInPart, while: permission)
        delivery.outcome.exceptions = delivery.outcome.exceptions.compactMap { exception in
            guard indices.indices.contains(exception.index) else { return nil }
            return .init(index: indices[exception.index], outcome: exception.outcome)
        }
        delivery.found = delivery.found.map { indices[$0] }
        delivery.elsewhere = Set(delivery.elsewhere.map { indices[$0] })
        return delivery
    }
}
