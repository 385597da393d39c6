public import Delivery
public import LiveActivity
public import Store

/// A transport to a platform that wants a pace of all senders of an account together. It sends a page in slices, each
/// as large as the turn that it takes from Redis (`delivery-turn`). A platform without a pace has no such transport,
/// and asks nothing.
public struct PacedTransport: PushTransport {
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
        let isSmall = page.count <= PlatformPace.slice / 2
        return await withTaskGroup { group in
            var start = 0
            while start < page.count {
                let (count, cause) = await awaitTurn(page.count - start, isSmall, while: permission)
                let slice = page.part(Array(start..<start + count))
                start += count
                // A slice that is nearly done says nothing about the others.
                let handover = count == page.count ? handover : handover.map { _ in Handover() }
                group.addTask {
                    if let cause {
                        return PageOutcome(all: slice, .unanswered(NoAnswer(cause, mayHaveBeenDelivered: false)))
                    }
                    return await transport.send(slice, push, while: permission, handover)
                }
            }
            return await group.reduce(into: PageOutcome()) { $0 += $1 }
        }
    }

    /// Waits for a turn.
    /// - Returns: how many of the entries may be sent now; or all of them, and why none may be sent
    private func awaitTurn(
        _ entries: Int, _ isSmall: Bool, while permission: any SendPermission
    ) async -> (count: Int, cause: NoAnswer.Cause?) {
        var wait = TurnWait()
        while permission.holds {
            let patience = permission.patience
            let horizon = patience ?? TurnWait.horizon(isSmall: isSmall)
            // Without Redis the sender soon loses its lease, which ends the wait.
            let turn = try? await turns.take(
                account, tokens: entries, pace, horizon: horizon, reserve: wait.reserve(isSmall: isSmall))
            if let turn, !turn.isTaken, patience != nil { return (entries, .paced) }
            await wait.sleep(turn ?? .unknown, within: horizon, atLeast: TurnWait.look) { permission.holds }
            if let turn, turn.isTaken { return permission.holds ? (turn.tokens, nil) : (entries, .cancelled) }
        }
        return (entries, .cancelled)
    }
}
