import Foundation

/// Tells the outbox of all activities of some types: those that exist, begin, get another token, end or are dismissed,
/// also while the app was away.
actor Registrar {
    private let outbox: Outbox
    private let clock: KitClock
    private var types: Set<String> = []
    /// The ids of the cards that are watched.
    private var watched: Set<String> = []
    private var startTokens: [String: Data] = [:]

    init(_ outbox: Outbox, clock: KitClock) { (self.outbox, self.clock) = (outbox, clock) }

    /// Follows the activities of a type, until the app ends. A second call for a type does nothing.
    func follow(_ source: some ActivitySource) async {
        let type = source.attributesType
        guard types.insert(type).inserted else { return }
        // First the sequence, then the list: a card that begins in between is in both, and counts once.
        let new = source.newCards()
        Task { for await card in new { watch(card, of: source) } }
        for card in source.cards() { watch(card, of: source) }
        Task { await sweep(source) }
        Task {
            for await token in source.startTokens() {
                startTokens[type] = token
                await outbox.start(type, token: token)
            }
        }
        // This sequence may stay silent (developer.apple.com/forums/thread/768035), so each token reports the value
        // too.
        Task {
            for await isOn in source.frequentPushes() {
                for card in source.cards() where !card.state.isOver {
                    if let token = card.token { await report(card, token, of: source, isOn) }
                }
            }
        }
        if types.count == 1 { Task { await repeatStartTokens() } }
    }

    /// Finds the cards that ended while the app was away. ActivityKit may need a moment after launch to list them all.
    private func sweep(_ source: some ActivitySource) async {
        await clock.sleep(5)
        let living = source.cards().filter { !$0.state.isOver }.map(\.id)
        await outbox.keep(Set(living), of: source.attributesType)
    }

    /// Reports start tokens again, as the outbox finds them a day old. An app may live for weeks.
    private func repeatStartTokens() async {
        while !Task.isCancelled {
            await clock.sleep(3_600)
            for (type, token) in startTokens { await outbox.start(type, token: token) }
        }
    }

    private func report(_ card: some Card, _ token: Data, of source: some ActivitySource, _ isFrequent: Bool) async {
        await outbox.follow(
            card.id, name: card.name, of: source.attributesType, token: token, hasFrequentPushes: isFrequent,
            isPending: card.state == .pending)
    }

    private func watch(_ card: some Card, of source: some ActivitySource) {
        guard watched.insert(card.id).inserted else { return }
        Task {
            for await token in card.tokens() where !card.state.isOver {
                await report(card, token, of: source, source.hasFrequentPushes)
            }
        }
        Task {
            for await mark in card.marks() { await receive(.shown, mark) }
        }
        Task {
            var wasPending = false
            for await state in card.states() {
                switch state {
                case .pending: wasPending = true
                case .active:
                    // It counts from now on.
                    if wasPending, let token = card.token {
                        await report(card, token, of: source, source.hasFrequentPushes)
                    }
                    wasPending = false
                case .ended, .dismissed:
                    await outbox.unfollow(card.id)
                    await receive(state == .ended ? .ended : .dismissed, card.mark)
                }
                if state == .dismissed { break }
            }
        }
    }

    private func receive(_ event: Receipt.Event, _ mark: String?) async {
        if let mark { await outbox.receive(Receipt(push: mark, event: event)) }
    }
}
