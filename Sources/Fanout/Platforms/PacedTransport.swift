public import Delivery
public import LiveActivity
public import Store

/// A transport to a platform that wants a pace of all senders of an account together. It sends a page in slices, and
/// takes a turn for each from Redis (`delivery-turn`). A platform without a pace has no such transport, and asks
/// nothing.
public struct PacedTransport: PushTransport {
    /// The most entries of a turn. At the lowest rate of FCM they take a second and a half.
    private static let slice = 250

    private let transport: any PushTransport
    private let account: PlatformAccount
    private let pace: PlatformPace
    private let turns: DeliveryRates

    public init(
        _ transport: any PushTransport, _ account: PlatformAccount, _ pace: PlatformPace, _ turns: DeliveryRates
    ) {
        (self.transport, self.account, self.pace, self.turns) = (transport, account, pace, turns)
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
                if let cause = await awaitTurn(slice.count, while: permission) {
                    group.addTask { Self.unsent(slice, cause) }
                    continue
                }
                group.addTask { await transport.send(slice, push, while: permission, handover) }
            }
            return await group.reduce(into: PageOutcome()) { $0 += $1 }
        }
    }

    private static func unsent(_ page: TokenPage, _ cause: NoAnswer.Cause) -> PageOutcome {
        PageOutcome(all: page, .unanswered(NoAnswer(cause, mayHaveBeenDelivered: false)))
    }

    private func sendSlice(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        if let cause = await awaitTurn(page.count, while: permission) { return Self.unsent(page, cause) }
        return await transport.send(page, push, while: permission, handover)
    }

    /// - Returns: why nothing may be sent; nil once the turn is there
    private func awaitTurn(_ entries: Int, while permission: any SendPermission) async -> NoAnswer.Cause? {
        let isSmall = entries <= Self.slice / 2
        var wait = TurnWait()
        while permission.holds {
            let patience = permission.patience
            let horizon = patience ?? TurnWait.horizon(isSmall: isSmall)
            // Without Redis the sender soon loses its lease, which ends the wait.
            let turn = try? await turns.take(
                account, tokens: entries, pace, horizon: horizon, reserve: wait.reserve(isSmall: isSmall))
            if let turn, !turn.isTaken, patience != nil { return .paced }
            await wait.sleep(turn ?? (false, .zero), within: horizon, atLeast: TurnWait.look) { permission.holds }
            if turn?.isTaken == true { return permission.holds ? nil : .cancelled }
        }
        return .cancelled
    }
}
