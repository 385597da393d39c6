import LiveActivity
import Store

/// A start goes to the start tokens of its attributes type, which lie on another slot than its name.
///
/// No catch-up follows it: who registers a start token behind its sweep was no target of it. A token that is rotated while
/// the sweep runs is sent to as it was read.
extension Sweep {
    /// The next page of start tokens in the audience. What decides about them is read on the name's slot afterwards: a channel
    /// that began to follow in between is left out, one that stopped between the two has had its card.
    /// - Parameter splits: some of the page may get the variant for the name's broadcast channel.
    func startPage(
        _ starts: ActivityName, from position: ScanPosition, to limit: ScanPosition, splits: Bool
    ) async throws(StoreError) -> (Page, ScanPosition) {
        let (tokens, next, signs) = try await sweeper.store.registry.markedPage(
            lease.app, starts, from: position, to: limit, limit: sweeper.options.pageSize)
        let audience = try await sweeper.store.channels.filter(lease.app, tokens, claim.record.audience)
        if audience.isEmpty { return (Page(), next) }
        // Of what may stand there only the quarantine and the other environment concern start tokens.
        let marks = try await sweeper.store.registry.marks(lease.app, starts, audience, signs, for: .start) ?? Marks()
        try await sweeper.store.quarantine.forget(lease.app, starts, marks.outdated)
        let sendUntil = sweeper.startsSentUntil
        let standing = try await sweeper.store.sweeps.standing(
            lease.app, lease.name, sweeper.store.registry, audience, of: claim.record)
        let capable = splits ? try await sweeper.store.channels.withIOS18(lease.app, audience) : []
        var page = Page()
        page.sendUntil = sendUntil
        var sent: [Int] = []
        for index in 0..<audience.count {
            if standing.isOver {
                page.skipped += 1
            } else if standing.waits[index] {
                // Whatever it waits for goes first, and may be the end of the card that it has.
                page.held.append(Array(audience.channel(index)))
            } else if standing.follows[index], !claim.record.restarts {
                page.skipped += 1
            } else if marks[index].contains(.quarantined) {
                page.quarantined += 1
            } else {
                if marks[index].contains(.elsewhere) { page.elsewhere.insert(sent.count) }
                if capable.contains(index) { page.onChannel.insert(sent.count) }
                sent.append(index)
            }
        }
        let wanted = Set(sent)
        page.tokens = audience.filtered(wanted.contains)
        return (page, next)
    }
}

extension Sweeper {
    /// On the boot clock, for starts that are looked at now.
    var startsSentUntil: Int64 { Clocks.sinceBoot() + options.startHold.milliseconds }

    /// Start tokens that were last reported before this time (epoch ms) count as stale.
    var staleBefore: Int64 { store.time.now() - options.startTokensStaleAfter.milliseconds }
}

extension PageReport {
    /// How many of a page's tokens were delivered to, of those that were registered before a time (epoch ms).
    func delivered(_ page: TokenPage, registeredBefore time: Int64) -> Int {
        let exceptions = Set(exceptions.map(\.index))
        return page.entries.indices.count { page.entries[$0].registeredAt < time && !exceptions.contains($0) }
    }
}
