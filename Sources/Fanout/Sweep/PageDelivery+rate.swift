import LiveActivity
import Store

/// An app's cap of the delivery rate. Without one, nothing here asks Redis or waits.
extension PageDelivery {
    /// A large push asks again for a turn that is later than `near`. So it fills no long queue of turns, and a small push,
    /// which takes a turn up to `far`, soon has its own. Pages of large pushes that have waited for `far` have a part of
    /// the rate to themselves (`delivery-turn`), because many small pushes would keep the queue longer than `near`.
    private static let (near, far): (Duration, Duration) = (.milliseconds(250), .seconds(2))
    /// How long a waiting page sleeps before it looks for a drain, a pause or a lost lease.
    private static let look: Duration = .milliseconds(100)

    /// The cap as it is now. A reload may change it.
    var rate: DeliveryRate? { context.options.rates[app.key] }

    /// Tokens of a page. A page under a cap is small, so that its tokens are spread over time.
    var pageSize: Int { min(context.options.pageSize, rate?.slice ?? .max) }

    /// Waits for the turn in which a page may go. The lease stays alive meanwhile.
    /// - Returns: false if the run may not go on. Then nothing is sent or settled, and the page is read again.
    func awaitTurn(_ tokens: Int, of push: PushID) async -> Bool {
        if rate == nil || tokens == 0 { return true }
        var waited: Duration = .zero
        while mayGoOn {
            guard let rate else { return true }
            let isSmall = tokens <= rate.slice / 2
            let horizon = isSmall ? Self.far : Self.near
            // Longer than that of small pushes, so that these cannot take it.
            let reserve = !isSmall && waited >= Self.far ? Self.far + Self.near : .zero
            let turn = await ask { () async throws(StoreError) in
                try await store.deliveryRates.take(
                    app.key, push, tokens: tokens, rate, horizon: horizon, reserve: reserve)
            }
            guard let turn else { return false }
            // Without a turn, ask when the queue of turns is as short as wanted.
            let pause = turn.isTaken ? turn.wait : min(max(turn.wait - horizon, .milliseconds(10)), .seconds(1))
            guard await sleep(pause) else { return false }
            waited += pause
            if turn.isTaken { return mayGoOn }
        }
        return false
    }

    private func sleep(_ duration: Duration) async -> Bool {
        var rest = duration
        while rest > .zero, mayGoOn {
            try? await Task.sleep(for: min(rest, Self.look))
            rest -= Self.look
        }
        return mayGoOn
    }
}
