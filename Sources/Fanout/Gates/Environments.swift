import APNsClient
import APNsWire
import LiveActivity

/// One app's APNs servers: the first, and the other environment if the app is configured for both. A token lives in one
/// of them, and only APNs's answer tells in which. If one environment calls a token bad, the token is tried once in the
/// other, as part of the same attempt.
struct Environments: Sendable {
    let first: any PushTransport
    let other: (any PushTransport)?

    /// The outcome of a page in both environments.
    struct Delivery: Sendable {
        var outcome = PageOutcome()
        /// Indices of the entries that the other environment accepted. The first one refused them or was not asked.
        var found: [Int] = []
        /// Indices of the entries whose outcome came from the other environment. Its answers about credentials and
        /// topics concern that environment alone.
        var elsewhere: Set<Int> = []
    }

    /// Sends a page, each entry to the environment where its token lives.
    /// - Parameter known: indices of entries that are known to live in the other environment.
    func send(
        _ page: TokenPage, _ push: PreparedPush, known: Set<Int> = [],
        while permission: any SendPermission = StandingPermission()
    ) async -> Delivery {
        guard let other else { return Delivery(outcome: await first.send(page, push, while: permission)) }
        var delivery = Delivery()
        let all = page.entries.indices
        async let here = Self.send(page, all.filter { !known.contains($0) }, push, first, while: permission)
        async let there = Self.send(page, all.filter(known.contains), push, other, while: permission)
        let asked = await (first: here, other: there)
        delivery.take(asked.first, isOther: false)
        delivery.take(asked.other, isOther: true)
        let strangers = asked.first.misplaced
        let strays = asked.other.misplaced
        if strangers.isEmpty, strays.isEmpty { return delivery.sorted() }
        delivery.outcome.exceptions.removeAll { strangers.contains($0.index) || strays.contains($0.index) }
        async let second = Self.send(page, strangers.sorted(), push, other, while: permission)
        async let third = Self.send(page, strays.sorted(), push, first, while: permission)
        let again = await (other: second, first: third)
        delivery.take(again.other, isOther: true)
        delivery.take(again.first, isOther: false)
        return delivery.sorted()
    }

    /// The outcome of a part of a page. An exception's index is a position in `indices`, which holds the page's own
    /// indices.
    fileprivate struct Part: Sendable {
        var indices: [Int]
        var outcome: PageOutcome

        /// Page indices of the entries that this environment answered with 400 BadDeviceToken.
        var misplaced: Set<Int> {
            Set(
                outcome.exceptions.compactMap { exception in
                    guard case .rejected(let rejection) = exception.outcome, rejection.status == 400,
                        rejection.reason == .known(.badDeviceToken), indices.indices.contains(exception.index)
                    else { return nil }
                    return indices[exception.index]
                })
        }
    }

    private static func send(
        _ page: TokenPage, _ indices: [Int], _ push: PreparedPush, _ transport: any PushTransport,
        while permission: any SendPermission
    ) async -> Part {
        if indices.isEmpty { return Part(indices: [], outcome: PageOutcome()) }
        if indices.count == page.count {
            return Part(indices: indices, outcome: await transport.send(page, push, while: permission))
        }
        let wanted = Set(indices)
        return Part(
            indices: indices, outcome: await transport.send(page.filtered(wanted.contains), push, while: permission))
    }
}

extension Environments.Delivery {
    fileprivate mutating func take(_ part: Environments.Part, isOther: Bool) {
        outcome.accepted += part.outcome.accepted
        outcome.duplicatesPossible += part.outcome.duplicatesPossible
        var refused: Set<Int> = []
        for exception in part.outcome.exceptions where part.indices.indices.contains(exception.index) {
            let index = part.indices[exception.index]
            refused.insert(index)
            outcome.exceptions.append(.init(index: index, outcome: exception.outcome))
        }
        if isOther {
            elsewhere.formUnion(part.indices)
            found += part.indices.filter { !refused.contains($0) }
        } else {
            elsewhere.subtract(part.indices)
        }
    }

    fileprivate func sorted() -> Self {
        var delivery = self
        delivery.outcome.exceptions.sort { $0.index < $1.index }
        delivery.found.sort()
        return delivery
    }
}
