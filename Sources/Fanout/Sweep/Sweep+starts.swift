import LiveActivity
import Store

/// A start goes to the start tokens of its attributes type, which are on another slot than its name. It has no
/// catch-up: a start token that is registered behind the sweep is no target. If a token rotates meanwhile, the sweep
/// sends to the token that it read.
extension Sweep {
    /// The next page of start tokens in the audience. A channel's state under the name is read after its start token.
    /// A channel that followed in between is left out. One that stopped gets the start, because its card is over.
    /// - Parameter splits: some of the page may get the variant for the name's broadcast channel
    func startPage(
        _ starts: TokenPlace, from position: ScanPosition, to limit: ScanPosition, splits: Bool
    ) async throws(StoreError) -> (Page, ScanPosition) {
        let (tokens, next, counts) = try await store.tokens.markedPage(
            lease.app, starts, from: position, to: limit, limit: delivery.pageSize)
        var audience = try await store.channels.filter(lease.app, tokens, claim.record.audience)
        if audience.isEmpty { return (Page(), next) }
        // Only two marks apply to start tokens: the quarantine and the other environment.
        let marks =
            try await store.tokens.marks(lease.app, starts, audience, counts, for: .start) ?? SendBlocks()
        try await store.quarantine.forget(lease.app, starts, marks.outdated)
        let sendUntil = context.startsSentUntil
        let facts = try await store.sweeps.startFacts(
            lease.app, lease.name, store.tokens, audience, of: claim.record)
        if splits { audience = try await store.channels.routingIOS18(lease.app, audience, to: .variant) }
        var page = Page()
        page.sendUntil = sendUntil
        var sent: Set<Int> = []
        for index in 0..<audience.count {
            let platform = audience.entries[index].platform
            if facts.isClosed {
                page.leaveOut(platform, .needless)
            } else if facts.waits[index] {
                // The older push that the channel waits for goes first: it may be the end of the channel's card.
                page.waiting.append(.init(audience, index))
            } else if facts.follows[index], !claim.record.restarts {
                page.leaveOut(platform, .needless)
            } else if facts.dismissed[index] {
                page.leaveOut(platform, .dismissed)
            } else if marks[index].contains(.quarantined) {
                page.leaveOut(platform, .unreachable(.quarantined))
            } else if audience.entries[index].isSilent, !claim.record.passes(.notificationsOff, on: platform) {
                page.leaveOut(platform, .unreachable(.notificationsOff))
            } else {
                if marks[index].contains(.elsewhere) { audience[route: index].insert(.elsewhere) }
                sent.insert(index)
            }
        }
        page.tokens = audience.filtered(sent.contains)
        return (page, next)
    }
}

extension WorkerContext {
    /// Starts that are checked now may be sent until this time on the worker's clock.
    var startsSentUntil: Int64 { now + options.startHold.milliseconds }
    /// Start tokens that were last reported before this time (epoch ms) count as stale.
    var staleBefore: Int64 { store.time.now() - options.startTokensStaleAfter.milliseconds }
}
