public import Delivery
public import LiveActivity
public import Store

/// A transport to a platform that wants a pace of all workers together. It sends a page in slices, and takes a turn for
/// each from Redis (`delivery-turn`). A platform without a pace has no such transport, and asks nothing.
public struct PacedTransport: PushTransport {
    /// The most entries of a turn. At the lowest rate of FCM they take a second and a half.
    private static let slice = 250
    /// A slice asks again for a turn that is later, so that the queue of turns stays short and a small push has one
    /// soon.
    private static let (near, far): (Duration, Duration) = (.milliseconds(250), .seconds(2))
    /// How long a waiting slice sleeps before it looks whether it may still be sent.
    private static let look: Duration = .milliseconds(100)

    private let transport: any PushTransport
    private let key: AppPlatform
    private let pace: PlatformPace
    private let turns: DeliveryRates

    public init(_ transport: any PushTransport, _ key: AppPlatform, _ pace: PlatformPace, _ turns: DeliveryRates) {
        (self.transport, self.key, self.pace, self.turns) = (transport, key, pace, turns)
    }

    public var requestTimeout: Duration { transport.requestTimeout }
    public var lanes: LaneCounts { transport.lanes }
    public func close() async { await transport.close() }

    public func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        if page.count <= Self.slice { return await sendSlice(page, push, while: permission, handover) }
        // A slice that is nearly done says nothing about the others.
        let handover = handover.map { _ in Handover() }
        return await withTaskGroup { group in
            for start in stride(from: 0, to: page.count, by: Self.slice) {
                let slice = page.part(Array(start..<min(start + Self.slice, page.count)))
                guard await awaitTurn(slice.count, while: permission) else {
                    group.addTask { PageOutcome(all: slice, Self.cancelled) }
                    continue
                }
                group.addTask { await transport.send(slice, push, while: permission, handover) }
            }
            return await group.reduce(into: PageOutcome()) { $0 += $1 }
        }
    }

    private static let cancelled = PushOutcome.unanswered(.init(.cancelled, mayHaveBeenDelivered: false))

    private func sendSlice(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        guard await awaitTurn(page.count, while: permission) else { return PageOutcome(all: page, Self.cancelled) }
        return await transport.send(page, push, while: permission, handover)
    }

    /// - Returns: false if the sender may not begin requests any more
    private func awaitTurn(_ entries: Int, while permission: any SendPermission) async -> Bool {
        let horizon = entries <= Self.slice / 2 ? Self.far : Self.near
        while permission.holds {
            // Without Redis the sender soon loses its lease, which ends the wait.
            let turn = try? await turns.take(key, tokens: entries, pace, horizon: horizon)
            let isTaken = turn?.isTaken ?? false
            var rest =
                isTaken ? turn?.wait ?? .zero : min(max((turn?.wait ?? .zero) - horizon, Self.look), .seconds(1))
            while rest > .zero, permission.holds {
                try? await Task.sleep(for: min(rest, Self.look))
                rest -= Self.look
            }
            if isTaken { return permission.holds }
        }
        return false
    }
}
