import APNsWire
import Delivery
import LiveActivity
import Logging
import Store

/// Delivers pages under one lease, for sweeps and retries alike: sends a page, turns the outcomes into a report, and
/// opens or closes the app's circuit. The caller settles the report.
struct PageDelivery: Sendable {
    let context: WorkerContext
    let app: WorkerApp
    let held: HeldLease
    /// A sweep whose push had expired when it began goes on during a pause.
    var sendsNothing = false
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

    var store: Store { context.store }
    var lease: Lease { held.lease }

    /// An operator's pause interrupts the run as an open circuit does.
    var mayGoOn: Bool {
        if isPaused, !sendsNothing {
            state.change { $0.pause = $0.pause ?? PauseBook.look }
        }
        return state.values.goesOn && held.isLive && !context.drain.isOn
    }
    var isPaused: Bool { context.pauses.isPaused(lease.app, lease.name) }
    func lose() { state.change { $0.isLost = true } }

    /// The settlement of a page was refused, or Redis did not answer while the lease lasted. Whoever has the lease goes
    /// on from the last settled page. The 200 of an `end` is a fact about a token all the same, and needs no lease.
    /// - Parameter ends: those that the page delivered
    func lose(_ sent: Sent?, _ ends: RetrySettlement) async {
        lose()
        guard let sent else { return }
        state.change { _ = $0.unsettled.insert(sent.record.id) }
        // The open requests may get a 200 too.
        if sent.record.event == .end { follow(sent) }
        if !ends.isEmpty { await context.note(ends, lease.app, lease.name, for: timeToTell, log) }
    }

    /// As long as a request may take, and as long as a stalled worker may need to write down what became of it.
    private var timeToTell: Duration { app.environments.requestTimeout + context.options.claimAfter }

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
    func eachPage(_ next: () async -> (@Sendable (PageSlot) async -> Void)?) async -> Bool {
        await withDiscardingTaskGroup(returning: Bool.self) { group in
            let places = PageSlots(max(1, context.options.openPages))
            while mayGoOn {
                guard let send = await next() else { return mayGoOn }
                let place = await places.take()
                // The wait may have been long: begin nothing without a live lease.
                guard mayGoOn else { return false }
                group.addTask {
                    await send(place)
                    place.done()
                }
            }
            return false
        }
    }

    /// A page that was sent: the decisions for its entries, and its open requests.
    struct Sent {
        var record: PushRecord
        var report: PageReport
        /// Give it to `follow` when the page is settled. Nil: each entry has a decision.
        var open: OpenPage?
        /// The settlement notes them.
        var requests: [OpenRequest] { open.map { $0.requests.values.map(\.request) } ?? [] }
        /// The channels of the page that have the push.
        func reachedChannels(of page: TokenPage) -> Set<[UInt8]> {
            Set(report.deliveredIndices(page).map { Array(page.channel($0)) })
        }
    }

    /// Sends a page.
    /// - Parameters:
    ///   - page: entries with the route `variant` get `broadcastChannelPush`
    ///   - place: given back when the page is nearly done
    ///   - time: boot-clock milliseconds after which no request leaves this machine
    ///   - channel: the waiting channel of an entry, for a page of retries
    /// - Returns: nil if there is nothing to settle
    func sendPage(
        _ page: TokenPage, _ outgoing: Outgoing, _ place: PageSlot, until time: Int64?,
        channel: ((Int) -> WaitingChannel)? = nil
    ) async -> Sent? {
        // Check the lease here, because the process may have been suspended since the page was read.
        guard held.isLive else { return lost() }
        let isStart = outgoing.record.event == .start
        let notes = isStart ? await noteStarted(page, outgoing) : [:]
        guard let notes else { return nil }
        var page = page
        let traced = outgoing.record.isTraced ? await traced(page, outgoing.record) : nil
        if let traced { page[route: traced].insert(.traced) }
        let trace = traced.map { _ in ExchangeRecorder() }
        context.metrics.pageBegan(app.key)
        let spanStart = context.spanStart(outgoing.record)
        let sent = await app.environments.sendParts(
            page, outgoing.push, variant: outgoing.broadcastChannelPush, trace: trace,
            while: held.permission(until: time), Handover { place.nearlyDone() })
        context.metrics.pageEnded(app.key)
        // Before the page is settled, so that a final push has its whole trace.
        if let traced, let trace, !sent.outcome.open.contains(traced) {
            await keep(trace, of: traced, page, outgoing.record)
        }
        let report = context.report(app, sent.page, sent.outcome, outgoing.record)
        context.addPageSpan(
            channel == nil ? "page" : "retry", app.key, outgoing.record, from: spanStart, tokens: page.count, report)
        // A page that was refused as a whole is one refusal: its other requests did not leave this machine.
        let refusal = report.halt.map { [$0.reason: 1] } ?? [:]
        context.metrics.rejected(app.key, report.isUnsent ? refusal : report.errors)
        if !sent.found.isEmpty {
            // If this write is lost, the next send finds out again.
            let place = outgoing.record.startTokens ?? .activity(lease.name)
            try? await store.otherEnvironment.remember(app.key, place, page, sent.found)
        }
        if isStart { await removeNotes(page, sent.outcome, report, before: notes) }
        if let pause = await context.updateCircuit(app, report, log) { state.change { $0.pause = pause } }
        guard report.isUnsent else {
            return Sent(
                record: outgoing.record, report: report,
                open: open(sent, outgoing.record, notes, trace, channel))
        }
        guard held.isLive else { return lost() }
        // No request left this machine. This worker reads the page again when the app's circuit closes. If this worker
        // drains, another one does. Pause also if a transport returns pages without a reason.
        state.change { $0.pause = $0.pause ?? (context.drain.isOn ? .zero : .seconds(1)) }
        return nil
    }

    private func lost() -> Sent? {
        lose()
        return nil
    }

    /// The open requests of a page. It keeps copies of what they need, so that the page can go.
    private func open(
        _ sent: PagePlan, _ record: PushRecord, _ notes: [[UInt8]: [UInt8]], _ trace: ExchangeRecorder?,
        _ channel: ((Int) -> WaitingChannel)?
    ) -> OpenPage? {
        let indices = sent.outcome.open
        if indices.isEmpty { return nil }
        let length = timeToTell
        let requests = indices.map { index in
            let waiting = channel?(index) ?? WaitingChannel(sent.page, index, of: record.id)
            let request = OpenRequest(context.openRequests.nextID(), waiting, for: length)
            return (index, OpenPage.Request(request: request, route: sent.page[route: index]))
        }
        return OpenPage(
            context: context, app: app, name: lease.name, record: record,
            requests: Dictionary(uniqueKeysWithValues: requests), answers: sent.outcome.late, notes: notes,
            trace: trace, until: context.now + length.milliseconds * (record.event == .end ? 2 : 1), state: state,
            log: log)
    }

    /// Receives the answers to the open requests of a page that is settled.
    func follow(_ sent: Sent?) { if let open = sent?.open { context.openRequests.follow { await open.run() } } }
}

/// An app's cap of the delivery rate. Without one, nothing here asks Redis or waits.
extension PageDelivery {
    /// A large push asks again for a turn that is later than `near`. So it fills no long queue of turns, and a small
    /// push, which takes a turn up to `far`, soon has its own. Pages of large pushes that have waited for `far` have a
    /// part of the rate to themselves (`delivery-turn`), because many small pushes would keep the queue longer than
    /// `near`.
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

extension PageDelivery {
    /// Notes the channels of a page as started channels, before the page is sent. A device may register its token
    /// before the page's last answer comes. Pushes that are published from then on are kept for it.
    /// Entries with the variant take their updates from the broadcast channel, so they register no token.
    /// - Returns: the notes of earlier starts, by channel; nil if the run is lost
    private func noteStarted(_ page: TokenPage, _ outgoing: Outgoing) async -> [[UInt8]: [UInt8]]? {
        let channels = page.entries.indices.filter { !page[route: $0].contains(.variant) }
            .map { Array(page.channel($0)) }
        let before = await ask { () async throws(StoreError) in
            try await store.lateJoiners.expect(
                app.key, lease.name, channels, startedBy: outgoing.record.sequence, now: store.time.now())
        }
        return before.map { Dictionary(zip(channels, $0).compactMap { key, note in note.map { (key, $0) } }) { $1 } }
    }

    private func removeNotes(
        _ page: TokenPage, _ outcome: PageOutcome, _ report: PageReport, before: [[UInt8]: [UInt8]]
    ) async {
        _ = await held.repeatWhileLive(log) { () async throws(StoreError) in
            try await context.removeNotes(app.key, lease.name, page, outcome, report, before: before)
        }
    }
}

extension PageDelivery {
    /// The index of the entry whose exchanges are kept. Nil if the page has not the channel, or if Redis did not tell
    /// which it is: a trace is no reason to send a page twice.
    private func traced(_ page: TokenPage, _ record: PushRecord) async -> Int? {
        guard let channel = try? await store.traces.channel(app.key, lease.name, record.id) else { return nil }
        return page.entries.indices.first { page.channel($0).elementsEqual(channel) }
    }

    private func keep(_ trace: ExchangeRecorder, of index: Int, _ page: TokenPage, _ record: PushRecord) async {
        let attempt = Int(page.entries[index].attempt) + 1
        _ = await held.repeatWhileLive(log) { () async throws(StoreError) in
            try await context.keep(trace, attempt: attempt, app.key, lease.name, record)
        }
    }
}

extension PageDelivery.Outgoing {
    /// As it is rendered: an automatic end shows the state of another push.
    var rendersTooLarge: Bool { push.payload.count > Payload.maximumBytes }
}
