import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store

/// Delivers pages under one lease, for sweeps and retries alike: sends a page, turns the outcomes into a report, and
/// opens or closes the app's circuit. The caller settles the report.
struct PageDelivery: Sendable {
    let dispatcher: Dispatcher
    let app: WorkerApp
    let held: HeldLease
    let log: Logger
    let state = RunState()

    /// A push with its payload, made once for all pages.
    struct Outgoing: Sendable {
        let record: PushRecord
        let push: PreparedPush
        /// For a start: the push for devices that can take updates from the name's broadcast channel.
        let broadcastChannelPush: PreparedPush?

        init(_ record: PushRecord, _ app: WorkerApp, _ name: ActivityName, isLate: Bool = false) {
            self.record = record
            push = record.prepared(bundleID: app.bundleID, name, isLate: isLate)
            broadcastChannelPush = record.onBroadcastChannel(push)
        }
    }

    var lease: Lease { held.lease }

    /// An operator's pause interrupts the run as an open circuit does.
    var mayGoOn: Bool {
        if dispatcher.pauses.isPaused(lease.app, lease.name) {
            state.change { $0.pause = $0.pause ?? PauseBook.look }
        }
        return state.values.goesOn && held.isLive && !dispatcher.drain.isOn
    }
    func lose() { state.change { $0.isLost = true } }

    /// Repeats a call to Redis while the lease is live (`HeldLease.repeatWhileLive`).
    /// - Returns: nil if there is no answer; the run is lost then
    func ask<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T? {
        let answer = await held.repeatWhileLive(log, body)
        if answer == nil { lose() }
        return answer
    }

    /// Sends pages, at most `openPages` at a time, until there is none or the run may not go on.
    /// - Parameter next: returns the function that sends and settles the next page; nil when there is none
    /// - Returns: false if the run may not go on
    func eachPage(_ next: () async -> (@Sendable () async -> Void)?) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            var free = max(1, dispatcher.options.openPages)
            while mayGoOn {
                guard let send = await next() else { return mayGoOn }
                if free > 0 { free -= 1 } else { _ = await group.next() }
                // The wait may have been long: begin nothing without a live lease.
                guard mayGoOn else { return false }
                group.addTask { await send() }
            }
            return false
        }
    }

    /// Sends a page.
    /// - Parameters:
    ///   - elsewhere: indices of the entries known to live in the other environment
    ///   - onBroadcastChannel: indices of the entries that get `broadcastChannelPush`
    ///   - time: boot-clock milliseconds after which no request leaves this machine
    /// - Returns: the decision for each entry; nil if there is nothing to settle
    func send(
        _ page: TokenPage, _ outgoing: Outgoing, elsewhere: Set<Int>, onBroadcastChannel: Set<Int> = [],
        until time: Int64?
    ) async -> PageReport? {
        // Check the lease here, because the process may have been suspended since the page was read.
        guard held.isLive else { return lost() }
        let isStart = outgoing.record.event == .start
        let notes = isStart ? await noteStarted(page, outgoing, besides: onBroadcastChannel) : [:]
        guard let notes else { return nil }
        let traced = outgoing.record.isTraced ? await traced(page, outgoing.record) : nil
        dispatcher.metrics.pageBegan(app.key)
        let sent = await app.environments.send(
            page, outgoing.push, variant: outgoing.variant(page, onBroadcastChannel), known: elsewhere,
            traced: traced, while: held.permission(until: time))
        dispatcher.metrics.pageEnded(app.key)
        // Before the page is settled, so that a final push has its whole trace.
        if let traced { await keep(traced, page, outgoing.record) }
        let report = report(page, sent, outgoing)
        // A page that was refused as a whole is one refusal: its other requests did not leave this machine.
        let refusal = report.halt.map { [$0.reason: 1] } ?? [:]
        dispatcher.metrics.rejected(app.key, report.isUnsent ? refusal : report.errors)
        let newlyFound = sent.found.filter { !elsewhere.contains($0) }
        if !newlyFound.isEmpty {
            // If this write is lost, the next send finds out again.
            let place = outgoing.record.startTokens ?? .activity(lease.name)
            try? await dispatcher.store.otherEnvironment.remember(app.key, place, page, newlyFound)
        }
        if let refusal = report.otherRefusal { await dispatcher.raiseAlarm(app.key, .otherEnvironment, refusal) }
        if isStart { await removeNotes(page, sent.outcome, report, before: notes) }
        if let pause = await updateCircuit(report) { state.change { $0.pause = pause } }
        guard report.isUnsent else { return report }
        guard held.isLive else { return lost() }
        // No request left this machine. This worker reads the page again when the app's circuit closes. If this worker
        // drains, another one does. Pause also if a transport returns pages without a reason.
        state.change { $0.pause = $0.pause ?? (dispatcher.drain.isOn ? .zero : .seconds(1)) }
        return nil
    }

    private func lost() -> PageReport? {
        lose()
        return nil
    }

    private func report(_ page: TokenPage, _ sent: PagePlan, _ outgoing: Outgoing) -> PageReport {
        let record = outgoing.record
        let report = PageReport(
            page, sent.outcome, now: dispatcher.store.time.now(), deadline: record.deadline,
            triesOnce: record.expiry == 0, backoff: dispatcher.options.retries, elsewhere: sent.elsewhere,
            attributesType: record.event == .start ? record.attributesType ?? "" : nil,
            pause: { dispatcher.circuits.nextPause(app.key, $0) }, random: { Double.random(in: 0..<1) })
        dispatcher.verdictLog.note(app.key, report.verdicts, now: dispatcher.store.time.now())
        return report
    }

    /// Opens or closes the app's circuit after a page.
    /// - Returns: how long the circuit stays open, if it does
    private func updateCircuit(_ report: PageReport) async -> Duration? {
        let (store, circuits) = (dispatcher.store, dispatcher.circuits)
        if let halt = report.halt {
            if circuits.open(app.key, halt, now: dispatcher.now) {
                dispatcher.metrics.circuit(app.key, isOpen: true)
                log.error("\(halt.cause.alarm.alarmText)", metadata: ["reason": "\(halt.reason)"])
                try? await store.alarms.raise(app.key, halt.cause.alarm, halt.reason)
            }
            return circuits.pause(of: app.key, now: dispatcher.now) ?? .zero
        }
        if report.delivered > 0, let halt = circuits.close(app.key) {
            dispatcher.metrics.circuit(app.key, isOpen: false)
            log.notice("APNs accepts this app's pushes again", metadata: ["reason": "\(halt.reason)"])
            // One halt may have followed the other, so a delivery clears both alarms.
            for cause in Halt.Cause.allCases { try? await store.alarms.clear(app.key, cause.alarm) }
        }
        return nil
    }
}

extension PageDelivery {
    /// Notes the channels of a page as started channels, before the page is sent. A device may register its token
    /// before the page's last answer comes. Pushes that are published from then on are kept for it.
    /// - Parameter onBroadcastChannel: indices of entries with updates from a broadcast channel: they register no token
    /// - Returns: the notes of earlier starts, by the page's index; nil if the run is lost
    private func noteStarted(
        _ page: TokenPage, _ outgoing: Outgoing, besides onBroadcastChannel: Set<Int>
    ) async -> [Int: [UInt8]]? {
        let indices = page.entries.indices.filter { !onBroadcastChannel.contains($0) }
        let before = await ask { () async throws(StoreError) in
            try await dispatcher.store.lateJoiners.expect(
                app.key, lease.name, indices.map { Array(page.channel($0)) }, startedBy: outgoing.record.sequence,
                now: dispatcher.store.time.now())
        }
        return before.map { Dictionary(zip(indices, $0).compactMap { index, note in note.map { (index, $0) } }) { $1 } }
    }

    /// Takes back the notes of channels that got no card, because APNs refused their only attempt for good. If the
    /// worker dies before this, their notes stay for 8 h without effect.
    private func removeNotes(
        _ page: TokenPage, _ outcome: PageOutcome, _ report: PageReport, before: [Int: [UInt8]]
    ) async {
        let answered = Set(
            outcome.exceptions.filter { if case .rejected = $0.outcome { true } else { false } }.map(\.index))
        let unreached = report.exceptions.filter { exception in
            if case .retry = exception.decision { return false }
            return page.entries[exception.index].attempt == 0 && answered.contains(exception.index)
        }
        if unreached.isEmpty { return }
        _ = await held.repeatWhileLive(log) { () async throws(StoreError) in
            try await dispatcher.store.lateJoiners.expectNothing(
                app.key, lease.name, unreached.map { (Array(page.channel($0.index)), before[$0.index]) })
        }
    }
}

extension PageDelivery {
    /// The entry whose exchanges are kept. Nil if the page has not the channel, or if Redis did not tell which it is:
    /// a trace is no reason to send a page twice.
    private func traced(_ page: TokenPage, _ record: PushRecord) async -> Environments.Traced? {
        guard let channel = try? await dispatcher.store.traces.channel(app.key, lease.name, record.id),
            let index = page.entries.indices.first(where: { page.channel($0).elementsEqual(channel) })
        else { return nil }
        return Environments.Traced(index: index)
    }

    private func keep(_ traced: Environments.Traced, _ page: TokenPage, _ record: PushRecord) async {
        let attempt = Int(page.entries[traced.index].attempt) + 1
        let exchanges = traced.trace.exchanges.map { $0.json(attempt: attempt) }
        // Nothing left this machine.
        if exchanges.isEmpty { return }
        _ = await held.repeatWhileLive(log) { () async throws(StoreError) in
            try await dispatcher.store.traces.add(app.key, lease.name, record.id, exchanges)
        }
    }
}

extension PageDelivery.Outgoing {
    /// The push was accepted for a broadcast channel alone: it is too large for a token.
    var isTooLarge: Bool { push.payload.count > Payload.maximumBytes }

    /// The other push of a page and the indices of the entries that get it. For a start it is the one for the broadcast
    /// channel. Otherwise it is the push at priority 5, if the budget demotes devices without frequent pushes.
    fileprivate func variant(
        _ page: TokenPage, _ onBroadcastChannel: Set<Int>
    ) -> (push: PreparedPush, entries: Set<Int>)? {
        if let broadcastChannelPush { return (broadcastChannelPush, onBroadcastChannel) }
        guard record.demotion == .infrequent else { return nil }
        var low = push
        low.priority = .low
        return (low, Set(page.entries.indices.filter { page.entries[$0].isInfrequent }))
    }
}
