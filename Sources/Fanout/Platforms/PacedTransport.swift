public import Delivery
public import LiveActivity
public import Store

/// A transport to a platform that wants a pace of all senders of an account together. It sends a page in slices, each
/// as large as the turn that it takes from Redis (`delivery-turn`). If the platform answers that it wants a pause, all
/// that send with the account keep it. A platform without a pace has no such transport, and asks nothing.
public struct PacedTransport: PushTransport {
    /// The reason of an entry that is not sent because another worker or app was told of a pause.
    private static let held = "Paused"

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
                let (count, refusal) = await awaitTurn(page.count - start, isSmall, while: permission)
                let slice = page.part(Array(start..<start + count))
                start += count
                // A slice that is nearly done says nothing about the others.
                let handover = count == page.count ? handover : handover.map { _ in Handover() }
                group.addTask {
                    if let refusal { return PageOutcome(all: slice, refusal) }
                    let outcome = await transport.send(slice, push, while: permission, handover)
                    if let pause = outcome.pause { try? await turns.hold(account, pace, for: pause) }
                    return outcome
                }
            }
            return await group.reduce(into: PageOutcome()) { $0 += $1 }
        }
    }

    /// Waits for a turn. A slice that has its turn when the platform wants a pause goes out all the same, up to
    /// `TurnWait.far` later, because another look would cost each slice a call.
    /// - Returns: how many of the entries may be sent now; or all of them, and their outcome if none may be sent
    private func awaitTurn(
        _ entries: Int, _ isSmall: Bool, while permission: any SendPermission
    ) async -> (count: Int, refusal: PushOutcome?) {
        func unsent(_ cause: NoAnswer.Cause) -> (Int, PushOutcome) {
            (entries, .unanswered(NoAnswer(cause, mayHaveBeenDelivered: false)))
        }
        var wait = TurnWait()
        while permission.holds {
            let patience = permission.patience
            let horizon = patience ?? TurnWait.horizon(isSmall: isSmall)
            // Without Redis the sender soon loses its lease, which ends the wait.
            let turn = try? await turns.take(
                account, tokens: entries, pace, horizon: horizon, reserve: wait.reserve(isSmall: isSmall))
            if let turn, turn.isHeld {
                let seconds = Int((turn.wait.milliseconds + 999) / 1_000)
                return (entries, Halt(cause: .busy, reason: Self.held, retryAfter: seconds).outcome)
            }
            if let turn, !turn.isTaken, patience != nil { return unsent(.paced) }
            await wait.sleep(turn ?? .unknown, within: horizon, atLeast: TurnWait.look) { permission.holds }
            if let turn, turn.isTaken { return permission.holds ? (turn.tokens, nil) : unsent(.cancelled) }
        }
        return unsent(.cancelled)
    }
}

extension PageOutcome {
    /// How long the platform wants no request.
    fileprivate var pause: Duration? {
        exceptions.lazy.compactMap { exception -> Duration? in
            guard case .rejected(let rejection) = exception.outcome, rejection.verdict == .pauseApp else { return nil }
            return AppCircuits.pause(Halt(cause: .busy, reason: "", retryAfter: rejection.retryAfter), inARow: 0)
        }.max()
    }
}
