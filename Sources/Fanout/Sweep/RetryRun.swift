import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store
import Synchronization

/// Sends to the waiting channels of a name that are due, page by page, several pages at a time. Each channel gets the
/// first push of its retry queue, at the token that it has now. Channels that are not due stay in Redis. A channel
/// keeps its queue entry until it is settled, so nothing is lost if the worker dies.
struct RetryRun: Sendable {
    private let sweeper: Sweeper
    private let app: WorkerApp
    private let lease: Lease
    private let held: HeldLease
    private let isPoison: Bool
    private let log: Logger
    private let state = Progress()

    private final class Progress: Sendable {
        struct Values {
            var inHand: Set<[UInt8]> = []; var rest: Duration?; var isLost = false; var expired: [PushID: Int] = [:]
        }
        let values = Mutex(Values())
        var goesOn: Bool { values.withLock { !$0.isLost && $0.rest == nil } }
    }

    init(
        _ sweeper: Sweeper, _ app: WorkerApp, _ lease: Lease, _ held: HeldLease, isPoison: Bool, _ log: Logger
    ) {
        self.sweeper = sweeper
        self.app = app
        self.lease = lease
        self.held = held
        self.isPoison = isPoison
        self.log = log
    }

    /// How long the app rests, if an answer halted it.
    var rest: Duration? { state.values.withLock { $0.rest } }
    private var mayGoOn: Bool { state.goesOn && held.isLive && !sweeper.drain.isOn }

    /// Sends until no channel is due or the run may not go on.
    /// - Returns: false if something could not be settled. Another worker has the lease, or it expired while Redis was
    ///   away.
    func run() async throws(StoreError) -> Bool {
        var found = true
        while found, mayGoOn {
            found = false
            let due: Result<Void, StoreError> = await withTaskGroup { group in
                let open = AsyncSemaphore(sweeper.options.openPages)
                do throws(StoreError) {
                    while mayGoOn {
                        let pages = try await pages()
                        if pages.isEmpty { break }
                        found = true
                        for page in pages {
                            await open.take()
                            guard mayGoOn else { break }
                            group.addTask {
                                await send(page.channels, page.record)
                                state.values.withLock { $0.inHand.subtract(page.channels.map(\.channel)) }
                                open.give()
                            }
                        }
                    }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            try due.get()
        }
        for (push, channels) in state.values.withLock({ $0.expired }) {
            await sweeper.tellExpired(lease.app, push, channels, log)
        }
        return state.values.withLock { !$0.isLost }
    }

    private struct Kind: Hashable { var push: PushID; var isLate: Bool }

    /// Due channels that no page of this run has yet, grouped by the first push of their retry queues. Late joiners get
    /// pages of their own.
    private func pages() async throws(StoreError) -> [(channels: [WaitingChannel], record: PushRecord?)] {
        let inHand = state.values.withLock { $0.inHand }
        let due = try await sweeper.store.sweeps.dueChannels(
            lease, sweeper.store.registry, now: sweeper.store.time.now(), limit: sweeper.options.pageSize + inHand.count
        ).filter { !inHand.contains($0.channel) }
        if due.isEmpty { return [] }
        let records = try await sweeper.store.sweeps.records(lease.app, lease.name, Set(due.map(\.push)))
        state.values.withLock { $0.inHand.formUnion(due.map(\.channel)) }
        return Dictionary(grouping: due) { Kind(push: $0.push, isLate: $0.isLate) }
            .map { (channels: $0.value, record: records[$0.key.push]) }
    }

    private func send(_ waiting: [WaitingChannel], _ record: PushRecord?) async {
        var gone = RetrySettlement()
        guard let record, !record.state.isFinal else {
            for channel in waiting { gone.drop(channel) }
            return await settle(gone)
        }
        if isPoison {
            for channel in waiting { gone.finish(channel, as: .failed, reason: "PoisonTask", isGivenUp: true) }
            return await settle(gone)
        }
        if sweeper.store.time.now() >= record.deadline {
            for channel in waiting { gone.finish(channel, as: .expired) }
            return await settle(gone)
        }
        var isOver = false
        var sendUntil: Int64?
        var waiting = waiting
        if record.event == .start {
            sendUntil = sweeper.startsSentUntil
            let found = await held.whileLive(log) { [waiting] () async throws(StoreError) in
                try await sweeper.store.sweeps.starts(lease, sweeper.store.registry, waiting, of: record)
            }
            guard let found else { return state.values.withLock { $0.isLost = true } }
            (waiting, isOver) = found
        }
        waiting = waiting.filter { channel in
            let isTooLate = record.event == .start && (isOver || channel.follows && !record.restarts)
            if channel.token == nil || isTooLate
                // The push was accepted for a broadcast channel alone: it is too large for a token.
                || record.payload.count > Payload.maximumBytes
                || record.event == .end && (channel.followsSince ?? 0) >= record.createdAt
                // The channel has another card now, which is too young for this automatic end.
                || !record.isFor(startedAt: channel.startedAt ?? .min)
            {
                gone.finish(channel, as: .skipped)
            } else if channel.isQuarantined {
                gone.finish(channel, as: .failed, reason: "Quarantined")
            } else {
                return true
            }
            return false
        }
        if !gone.isEmpty { await settle(gone) }
        if waiting.isEmpty { return }
        guard mayGoOn else { return }
        let page = TokenPage(waiting)
        let push = record.prepared(bundleID: app.bundleID, lease.name, isLate: waiting[0].isLate)
        var apart: (PreparedPush, Set<Int>)?
        if let channelPush = record.onBroadcastChannel(push) {
            let capable = await held.whileLive(log) { () async throws(StoreError) in
                try await sweeper.store.channels.withIOS18(lease.app, page)
            }
            guard let capable else { return state.values.withLock { $0.isLost = true } }
            apart = (channelPush, capable)
        }
        guard mayGoOn else { return }
        let report = await sweeper.deliver(
            page, push, app, record, lease.name,
            elsewhere: Set(waiting.indices.filter { waiting[$0].livesElsewhere }), apart: apart,
            deadline: record.deadline, while: held, until: sendUntil)
        if let rest = await sweeper.rest(lease.app, report, log) { state.values.withLock { $0.rest = rest } }
        if report.isUnsent {
            guard held.isLive else { return state.values.withLock { $0.isLost = true } }
            let pause: Duration = sweeper.drain.isOn ? .zero : .seconds(1)
            return state.values.withLock { $0.rest = $0.rest ?? pause }
        }
        await settle(
            RetrySettlement(
                waiting, report, endedAt: record.event == .end ? sweeper.store.time.now() : nil,
                staleBefore: record.event == .start ? sweeper.staleBefore : nil))
    }

    /// Repeats the settlement while the lease is live. A short outage of Redis must not cause pushes to be sent twice.
    private func settle(_ settlement: RetrySettlement) async {
        let settled = await held.whileLive(log) { () async throws(StoreError) in
            for push in settlement.givenUp {
                try await sweeper.store.deadLetters.enlist(lease.app, lease.name, push)
            }
            return try await sweeper.store.sweeps.settle(lease, for: sweeper.options.claimAfter, settlement)
        }
        guard case .ok = settled else { return state.values.withLock { $0.isLost = true } }
        sweeper.meters.settled(lease.app, settlement)
        state.values.withLock { $0.expired.merge(settlement.expired) { $0 + $1 } }
        let applied: Void? = await held.whileLive(log) { () async throws(StoreError) in
            try await sweeper.apply(settlement.owed, lease.app, lease.name)
        }
        if applied == nil { state.values.withLock { $0.isLost = true } }
    }
}
