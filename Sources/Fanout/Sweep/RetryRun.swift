import LiveActivity
import Logging
import Store

/// Sends to the waiting channels of a name that are due, page by page, several pages at a time. Each channel gets the
/// push of its retry queue that goes out next, at the token that it has now. Channels that are not due stay in Redis. A
/// channel keeps its queue entry until it is settled, so nothing is lost if the worker dies.
struct RetryRun: Sendable {
    let delivery: PageDelivery

    private struct PageKey: Hashable { var push: PushID; var isLate: Bool }
    private typealias Page = (channels: [WaitingChannel], record: PushRecord?)

    private var context: WorkerContext { delivery.context }
    private var store: Store { delivery.store }
    private var lease: Lease { delivery.lease }
    /// How long the app's circuit stays open, if an answer opened it.
    var pause: Duration? { delivery.state.values.pause }
    /// The pushes of pages that were sent and not settled.
    var unsettled: Set<PushID> { delivery.state.values.unsettled }

    /// Sends until no channel is due or the run may not go on. Under a pause it only ends what has expired.
    /// - Returns: false if something could not be settled: another worker has the lease, or Redis was away too long
    func run() async -> Bool {
        if delivery.app.senders.count > 1 { delivery.state.change { $0.parking = .always } }
        var found = true
        while found, delivery.mayGoOn {
            found = false
            var pages: [Page] = []
            _ = await delivery.eachPage {
                if pages.isEmpty { pages = await duePages() ?? [] }
                guard let page = pages.popLast() else { return nil }
                found = true
                return { place in
                    await sendAndSettle(page, place)
                    delivery.state.change { $0.inPages.subtract(page.channels.map(\.channel)) }
                }
            }
        }
        let state = delivery.state.values
        for (push, tokens) in state.expired { await context.reportExpired(lease.app, push, tokens, delivery.log) }
        return !state.isLost
    }

    /// Due channels that no page of this run has yet, grouped by their next push. Late joiners get their own pages.
    private func duePages() async -> [Page]? {
        await delivery.ask { () async throws(StoreError) in
            let inPages = delivery.state.values.inPages
            let limit = delivery.pageSize + inPages.count
            let due = try await store.sweeps.dueChannels(
                lease, store.tokens, now: store.time.now(), limit: limit
            ).filter { !inPages.contains($0.channel) }
            if due.isEmpty { return [] }
            let records = try await store.sweeps.records(lease.app, lease.name, Set(due.map(\.push)))
            delivery.state.change { $0.inPages.formUnion(due.map(\.channel)) }
            let pages = Dictionary(grouping: due) { PageKey(push: $0.push, isLate: $0.isLate) }
                .map { (channels: $0.value, record: records[$0.key.push]) }
            if !delivery.sendsNothing { return pages }
            // The channels of the other pages stay where they are, and this run does not look at them again.
            let now = store.time.now()
            return pages.filter { page in
                guard let record = page.record else { return true }
                return !record.maySend(isLate: page.channels[0].isLate) || record.deadline <= now
            }
        }
    }

    /// Settles the channels of a page that do not get their push, then sends to the others.
    private func sendAndSettle(_ page: Page, _ place: PageSlot) async {
        guard let record = page.record, record.maySend(isLate: page.channels[0].isLate) else {
            return await settle(page.channels) { $0.drop($1) }
        }
        if delivery.lapses == .tooMany {
            return await settle(page.channels) { $0.finish($1, as: .failed, reason: "PoisonTask", isGivenUp: true) }
        }
        if delivery.sendsNothing { return await settle(page.channels) { $0.finish($1, as: .expired) } }
        guard await delivery.awaitTurn(page.channels.count, of: record.id) else { return }
        if store.time.now() >= record.deadline {
            return await settle(page.channels) { $0.finish($1, as: .expired) }
        }
        var unsent = RetrySettlement()
        var waiting = page.channels
        var isClosed = false
        var sendUntil: Int64?
        if record.event == .start {
            sendUntil = context.startsSentUntil
            let found = await delivery.ask { () async throws(StoreError) in
                try await store.sweeps.starts(lease, store.tokens, page.channels, of: record)
            }
            guard let found else { return }
            (waiting, isClosed) = found
        }
        waiting = waiting.filter { channel in
            if Self.skips(channel, record, isClosed: isClosed) {
                unsent.finish(channel, as: .skipped)
            } else if channel.hasDismissed {
                unsent.finish(channel, as: .skipped, reason: Sweep.dismissed)
            } else if channel.isQuarantined || channel.unreachable == .quarantined {
                unsent.finish(channel, as: .failed, reason: Unreachable.quarantined.rawValue)
            } else if let reason = channel.unreachable, !record.passes(reason, on: channel.platform) {
                unsent.finish(channel, as: .skipped, reason: reason.rawValue)
            } else {
                return true
            }
            return false
        }
        let ends = waiting.indices.map { ($0, waiting[$0].endsForSome(after: record)) }.filter { !$1.isEmpty }
        if !ends.isEmpty {
            let page = TokenPage(waiting)
            let closed = await delivery.ask { () async throws(StoreError) in
                try await context.closed(page, Dictionary(uniqueKeysWithValues: ends), lease.app, lease.name)
            }
            guard let closed else { return }
            for index in closed { unsent.finish(waiting[index], as: .skipped) }
            waiting = waiting.indices.filter { !closed.contains($0) }.map { waiting[$0] }
        }
        if !unsent.isEmpty { await settle(unsent) }
        if !waiting.isEmpty { await deliver(waiting, record, place, until: sendUntil) }
    }

    /// Whether the first push of a channel's retry queue is not for the channel, or not any more.
    /// - Parameter isClosed: an `end` was accepted after the start
    private static func skips(_ channel: WaitingChannel, _ record: PushRecord, isClosed: Bool) -> Bool {
        if channel.token == nil { return true }
        if record.isTooLarge || channel.isNewer(than: record) { return true }
        if !record.isFor(channel.platform) { return true }
        return switch record.event {
        case .start: isClosed || channel.follows && !record.restarts
        // The channel may have another card now, which is too young for this automatic end.
        case .end, .update: !record.isFor(startedAt: channel.startedAt ?? .min)
        }
    }

    private func deliver(
        _ waiting: [WaitingChannel], _ record: PushRecord, _ place: PageSlot, until time: Int64?
    ) async {
        var page = TokenPage(waiting)
        var record = record
        if delivery.app.ordersBySecond(record) {
            let known = await delivery.ask { [record] () async throws(StoreError) in
                var record = record
                try await store.sweeps.recallSecond(lease.app, lease.name, of: &record)
                return record
            }
            guard let known else { return }
            record = known
        }
        let push = RenderedPush(
            record, for: delivery.app.senders, lease.name, to: waiting[0].isLate ? .lateJoiners : .followers)
        if push.hasVariant {
            let routed = await delivery.ask { [page] () async throws(StoreError) in
                try await store.channels.routingIOS18(lease.app, page, to: .variant)
            }
            guard let routed else { return }
            page = routed
        }
        guard delivery.mayGoOn else { return }
        // A late joiner's card did not exist when the push went out.
        let firstSize = waiting[0].isLate ? nil : PushSize(targets: record.targetsSoFar)
        let sent = await delivery.sendPage(
            page, of: record, push, place, until: time, firstSize: firstSize, channel: { waiting[$0] })
        guard let sent else { return }
        await settle(
            RetrySettlement(waiting, sent, now: store.time.now(), staleBefore: context.staleBefore), sent)
    }

    /// Settles channels that the push is not sent to.
    private func settle(_ unsent: [WaitingChannel], _ add: (inout RetrySettlement, WaitingChannel) -> Void) async {
        await settle(unsent.reduce(into: RetrySettlement()) { add(&$0, $1) })
    }

    private func settle(_ settlement: RetrySettlement, _ sent: SentPage? = nil) async {
        await delivery.finish(as: .retries(settlement, under: lease), sent)
    }
}
