import Foundation

/// Tells the outbox of all activities of some types: which exist, begin, get another token, end or are dismissed, also
/// while the app was away.
actor Registrar {
    private enum Part: CaseIterable { case tokens, states, marks }

    private struct Watch: Hashable {
        var card: String
        var part: Part
    }

    private let outbox: Outbox
    private let clock: KitClock
    /// An extension may list none of the app's cards.
    private let isApp: Bool
    private var sources: [any ActivitySource] = []
    /// The sequences that are being read. One that ended is begun again at the next look, if its card is listed.
    private var watches: Set<Watch> = []
    private var pending: Set<String> = []
    /// The last mark of each card: a card that was dismissed is listed no more.
    private var marks: [String: String] = [:]
    /// Tokens by the card's id.
    private var tokens: [String: TokenReading] = [:]
    /// Start tokens by the attributes type.
    private var startTokens: [String: TokenReading] = [:]

    init(_ outbox: Outbox, clock: KitClock, isApp: Bool = true) {
        (self.outbox, self.clock, self.isApp) = (outbox, clock, isApp)
    }

    /// Follows the activities of a type, until the app ends. A second call for a type does nothing.
    func follow(_ source: some ActivitySource) async {
        let type = source.attributesType
        guard !sources.contains(where: { $0.attributesType == type }) else { return }
        sources.append(source)
        // First the sequence, then the list: a card that begins in between is in both, and counts once.
        let new = source.newCards()
        Task { for await card in new { watch(card, of: source) } }
        Task { await look(at: source) }
        Task {
            for await token in source.startTokens() {
                _ = startTokens[type, default: TokenReading()].heard(token)
                await outbox.start(type, token: token)
            }
        }
        // This sequence may stay silent (developer.apple.com/forums/thread/768035), so each token reports the value
        // too.
        Task {
            for await isOn in source.frequentPushes() {
                for card in source.cards() where card.state?.isOver == false {
                    if let token = card.token { await report(card, token, of: source, isOn) }
                }
            }
        }
        if sources.count == 1 { Task { await lookEachHour() } }
    }

    /// Looks at everything again. Call it when the app comes to the foreground.
    func look() async {
        for source in sources { await look(at: source) }
    }

    /// Reports everything again, to another channel or after a pause.
    func repeatAll() {
        (tokens, startTokens) = ([:], [:])
        Task { await look() }
    }

    /// An app may live for weeks. The outbox reports a start token again once its report is a day old.
    private func lookEachHour() async {
        while !Task.isCancelled {
            await clock.sleep(3_600)
            await look()
        }
    }

    /// Finds cards and tokens that no sequence reported, and the ends of cards while the app was away.
    private func look(at source: some ActivitySource) async {
        _ = await find(source)
        // ActivityKit may need a moment after launch to list them all.
        await clock.sleep(5)
        let cards = await find(source)
        // Nothing is removed on a guess. An extension may list nothing, and so may an app just after its launch. APNs's
        // 410 reports the last card, if it went while the app was away.
        guard isApp, !cards.isEmpty || !source.isOn else { return }
        let living = cards.filter { $0.state?.isOver != true }.map(\.id)
        await outbox.keep(Set(living), of: source.attributesType)
    }

    private func find(_ source: some ActivitySource) async -> [any Card] {
        let (type, cards) = (source.attributesType, source.cards())
        for card in cards {
            watch(card, of: source)
            if let token = card.token, tokens[card.id, default: TokenReading()].read(token), card.state?.isOver != true
            {
                await report(card, token, of: source, source.hasFrequentPushes)
            }
        }
        // The sequence of start tokens may be silent.
        _ = startTokens[type, default: TokenReading()].read(source.startToken)
        if let token = startTokens[type]?.newest { await outbox.start(type, token: token) }
        return cards
    }

    private func report(_ card: some Card, _ token: Data, of source: some ActivitySource, _ isFrequent: Bool) async {
        let isPending = card.state == .pending
        if isPending { pending.insert(card.id) }
        await outbox.follow(
            card.id, name: card.name, of: source.attributesType, token: token, hasFrequentPushes: isFrequent,
            isPending: isPending)
    }

    private func watch(_ card: some Card, of source: some ActivitySource) {
        for part in Part.allCases {
            let watch = Watch(card: card.id, part: part)
            guard watches.insert(watch).inserted else { continue }
            Task {
                await waitUntilListed(card)
                switch part {
                case .tokens:
                    for await token in card.tokens() where card.state?.isOver != true {
                        guard tokens[card.id, default: TokenReading()].heard(token) else { continue }
                        await report(card, token, of: source, source.hasFrequentPushes)
                    }
                case .states:
                    for await state in card.states() {
                        await changed(card, to: state, of: source)
                        if state == .dismissed { break }
                    }
                case .marks:
                    for await mark in card.marks() {
                        marks[card.id] = mark
                        await receive(.shown, mark)
                    }
                }
                watches.remove(watch)
            }
        }
    }

    /// A card that a push started in the background may not be listed at once.
    private func waitUntilListed(_ card: some Card) async {
        for _ in 0..<10 where card.state == nil { await clock.sleep(1) }
    }

    private func changed(_ card: some Card, to state: CardState, of source: some ActivitySource) async {
        switch state {
        case .pending: break
        case .active:
            // The card has started, so its token counts from now on.
            if pending.remove(card.id) != nil, let token = card.token {
                await report(card, token, of: source, source.hasFrequentPushes)
            }
        case .ended, .dismissed:
            await outbox.unfollow(card.id)
            await receive(state == .ended ? .ended : .dismissed, card.mark ?? marks[card.id])
        }
    }

    private func receive(_ event: Receipt.Event, _ mark: String?) async {
        if let mark { await outbox.receive(Receipt(push: mark, event: event)) }
    }
}
