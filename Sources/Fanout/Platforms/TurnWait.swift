import Store

/// The wait for a turn in a rate that workers share (`delivery-turn`): for a page under an app's cap (`PageDelivery`),
/// or for a slice at a platform's pace (`PacedTransport`).
struct TurnWait {
    /// A large one asks again for a turn that is later than `near`. So it fills no long queue of turns, and a small
    /// one, which takes a turn up to `far`, soon has its own. A large one that has waited for `far` has a part of the
    /// rate to itself, because many small ones would keep the queue longer than `near`.
    static let (near, far): (Duration, Duration) = (.milliseconds(250), .seconds(2))
    /// How long the sleeper sleeps before it looks whether it may go on.
    static let look: Duration = .milliseconds(100)

    private var waited: Duration = .zero

    static func horizon(isSmall: Bool) -> Duration { isSmall ? far : near }

    /// Longer than the horizon of small ones, so that these cannot take it.
    func reserve(isSmall: Bool) -> Duration { !isSmall && waited >= Self.far ? Self.far + Self.near : .zero }

    /// Sleeps until the turn. Without a turn: until the queue of turns is as short as wanted, a second at most.
    /// - Parameters:
    ///   - turn: the answer to the question for it
    ///   - least: how long it sleeps at least without a turn
    ///   - mayGoOn: ends the sleep
    mutating func sleep(
        _ turn: DeliveryTurn, within horizon: Duration, atLeast least: Duration,
        while mayGoOn: () -> Bool
    ) async {
        var rest = turn.isTaken ? turn.wait : min(max(turn.wait - horizon, least), .seconds(1))
        waited += rest
        while rest > .zero, mayGoOn() {
            try? await Task.sleep(for: min(rest, Self.look))
            rest -= Self.look
        }
    }
}
