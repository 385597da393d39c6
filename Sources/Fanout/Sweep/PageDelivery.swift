import Delivery
import LiveActivity
import Logging
import Store

/// Delivers pages under one lease, for sweeps and retries alike: sends a page and turns the outcomes into a report
/// (`read`). The caller makes a settlement of the report, and `finish` writes it.
struct PageDelivery: PageOwner {
    let context: WorkerContext
    let app: WorkerApp
    let held: HeldLease
    var lapses = Lapses.none
    /// A sweep whose push had expired when it began goes on during a pause.
    var sendsNothing = false
    let log: Logger
    let state = RunState()

    var lease: Lease { held.lease }
    var name: ActivityName { lease.name }

    /// An operator's pause interrupts the run as an open circuit does.
    var mayGoOn: Bool {
        if isPaused, !sendsNothing {
            state.change { $0.pause = $0.pause ?? KnownPauses.look }
        }
        return state.values.goesOn && held.isLive && !context.drain.isOn
    }
    var isPaused: Bool { context.pauses.isPaused(lease.app, lease.name) }
    func lose() { state.change { $0.isLost = true } }

    /// The settlement of a page was refused, or Redis did not answer while the lease lasted. The worker that has the
    /// lease goes on from the last settled page. The 200 of an `end` is a fact about a token all the same, and needs no
    /// lease.
    func lose(_ sent: SentPage?, _ ends: RetrySettlement) async {
        // Pages in flight begin nothing more, also if Redis refused this one with a lasting error.
        held.lose()
        lose()
        guard let sent else { return }
        state.change { _ = $0.unsettled.insert(sent.record.id) }
        // The open requests may get a 200 too.
        if sent.record.event == .end { follow(sent) }
        if !ends.isEmpty { await context.note(ends, lease.app, lease.name, for: timeToTell, log) }
    }

    /// As long as a request may take, and as long as a stalled worker may need to write down what became of it.
    private var timeToTell: Duration { app.requestTimeout + context.options.claimAfter }

    func attempt<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T? {
        await held.repeatWhileLive(log, body)
    }

    /// Without an answer the run is lost.
    func ask<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T? {
        let answer = await attempt(body)
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

    /// Sends a page.
    /// - Parameters:
    ///   - push: of the record, made once for all pages
    ///   - place: given back when the page is nearly done
    ///   - time: boot-clock milliseconds after which no request leaves this machine
    ///   - firstSize: the size under which the push's first token counts, if this page may have it
    ///   - channel: the waiting channel of an entry, for a page of retries
    /// - Returns: nil if there is nothing to settle
    func sendPage(
        _ page: TokenPage, of record: PushRecord, _ push: RenderedPush, _ place: PageSlot, until time: Int64?,
        firstSize: PushSize?, channel: ((Int) -> WaitingChannel)? = nil
    ) async -> SentPage? {
        // Check the lease here, because the process may have been suspended since the page was read.
        guard held.isLive else { return lost() }
        guard let notes = record.event == .start ? await noteStarted(page, record) : [:] else { return nil }
        let page = record.isTraced ? await traced(page, record) : page
        let details = PageDetails(
            record: record, firstSize: firstSize, notes: notes, trace: record.isTraced ? ExchangeRecorder() : nil,
            spanStart: context.spanStart(record), isRetry: channel != nil)
        let refusals = record.isForSeveral ? state.values.refusals[record.id] ?? [:] : [:]
        context.metrics.pageBegan(app.key)
        var permission = held.permission(until: time)
        if app.senders.contains(where: \.platform.countsApart) {
            // The wait for a platform's turn may be longer than the push may be tried.
            let end = context.now + max(0, record.deadline - store.time.now())
            permission = held.permission(until: min(time ?? .max, end))
            // A run of retries has nothing else to do than to wait.
            let isSweep = channel == nil
            permission = Impatient(permission) { [state, context] in
                context.drain.isOn ? .zero : isSweep ? state.values.patience : nil
            }
        }
        let (sent, parts) = await push.send(
            page, refused: record.refusals.merging(refusals) { first, _ in first }, trace: details.trace,
            while: permission, Handover { place.nearlyDone() })
        context.metrics.pageEnded(app.key)
        if !sent.found.isEmpty {
            // If this write is lost, the next send finds out again.
            let place = record.startTokens ?? .activity(lease.name)
            try? await store.otherEnvironment.remember(app.key, place, page, sent.found)
        }
        let report = await read(
            AnsweredPage(page: sent.page, parts: parts, outcome: sent.outcome, details: details, isLate: false))
        // A halted platform holds nobody up: each channel gets its push once the platform takes pushes again.
        let isParked = report.halt != nil && held.isLive && state.values.parks
        guard report.isUnsent, !isParked else {
            return SentPage(
                record: record, report: report, isResent: isResent(), open: open(sent, details, channel))
        }
        guard held.isLive else { return lost() }
        // No request left this machine. This worker reads the page again when the app's circuit closes. If this worker
        // drains, another one does. Pause also if a transport returns pages without a reason.
        state.change { $0.pause = $0.pause ?? (context.drain.isOn ? .zero : .seconds(1)) }
        return nil
    }

    /// Whether the last owner of the task may have had the page in flight when it crashed or stalled: one of the first
    /// pages behind the settled ones.
    private func isResent() -> Bool {
        if lapses == .none { return false }
        let mostInFlight = max(1, context.options.openPages) + PageSlots.mostNearlyDone
        return state.change { values in
            values.pages += 1
            return values.pages <= mostInFlight
        }
    }

    private func lost() -> SentPage? {
        lose()
        return nil
    }

    /// The open requests of a page. It keeps copies of what they need, so that the page can go.
    private func open(
        _ sent: PagePlan, _ details: PageDetails, _ channel: ((Int) -> WaitingChannel)?
    ) -> OpenPage? {
        let indices = sent.outcome.open
        if indices.isEmpty { return nil }
        let (length, record) = (timeToTell, details.record)
        let requests = indices.map { index in
            let waiting = channel?(index) ?? WaitingChannel(sent.page, index, of: record.id)
            let request = OpenRequest(context.openRequests.nextID(), waiting, for: length)
            return (index, OpenPage.Request(request: request, route: sent.page[route: index]))
        }
        return OpenPage(
            context: context, app: app, name: lease.name, details: details,
            requests: Dictionary(uniqueKeysWithValues: requests), answers: sent.outcome.late,
            until: context.now + length.milliseconds * (record.event == .end ? 2 : 1), state: state, log: log)
    }

    func follow(_ sent: SentPage?) { if let open = sent?.open { context.openRequests.follow { await open.run() } } }
}

/// An app's cap of the delivery rate. Without one, nothing here asks Redis or waits.
extension PageDelivery {
    /// The cap as it is now. A reload may change it.
    var rate: DeliveryRate? { context.options.rates[app.key] }

    /// Tokens of a page. A page under a cap is small, so that its tokens are spread over time.
    var pageSize: Int { min(context.options.pageSize, rate?.slice ?? .max, state.values.mostTokens) }

    /// Waits for the turn in which a page may go. The lease stays alive meanwhile.
    /// - Returns: false if the run may not go on. Then nothing is sent or settled, and the page is read again.
    func awaitTurn(_ tokens: Int, of push: PushID) async -> Bool {
        if rate == nil || tokens == 0 { return true }
        var wait = TurnWait()
        while mayGoOn {
            guard let rate else { return true }
            let isSmall = tokens <= rate.slice / 2
            let horizon = TurnWait.horizon(isSmall: isSmall)
            let turn = await ask { () async throws(StoreError) in
                try await store.deliveryRates.take(
                    app.key, push, tokens: tokens, rate, horizon: horizon, reserve: wait.reserve(isSmall: isSmall))
            }
            guard let turn else { return false }
            await wait.sleep(turn, within: horizon, atLeast: .milliseconds(10)) { mayGoOn }
            if turn.isTaken { return mayGoOn }
        }
        return false
    }
}

extension PageDelivery {
    /// Notes the channels of a page as started channels, before the page is sent. A device may register its token
    /// before the page's last answer comes. Pushes that are published from then on are kept for it.
    /// Entries with the variant take their updates from the broadcast channel, so they register no token.
    /// - Returns: the notes of earlier starts, by channel; nil if the run is lost
    private func noteStarted(_ page: TokenPage, _ record: PushRecord) async -> [[UInt8]: [UInt8]]? {
        let channels = page.entries.indices.filter { !page[route: $0].contains(.variant) }
            .map { Array(page.channel($0)) }
        let before = await ask { () async throws(StoreError) in
            let following = record.restarts ? try await followers(of: page) : []
            let started = channels.filter { !following.contains($0) }
            let notes = try await store.lateJoiners.expect(
                app.key, lease.name, started, startedBy: record.sequence, now: store.time.now())
            return zip(started, notes)
        }
        return before.map { Dictionary($0.compactMap { key, note in note.map { (key, $0) } }) { $1 } }
    }

    /// The channels of a page that have a card already and report no other one. On a platform where a channel has one
    /// address, its device keeps its card when it gets a start, so a later registration is for a later card.
    private func followers(of page: TokenPage) async throws(StoreError) -> Set<[UInt8]> {
        let channels = page.entries.indices.filter { page.entries[$0].platform.hasOneAddress }
            .map { Array(page.channel($0)) }
        if channels.isEmpty { return [] }
        let (found, _) = try await store.tokens.lookup(app.key, .activity(lease.name), channels)
        return Set(found.entries.indices.map { Array(found.channel($0)) })
    }

    /// The page with the route `traced` for the entry whose exchanges are kept. No entry has it if the page has not the
    /// channel, or if Redis did not tell which it is: a trace is no reason to send a page twice.
    private func traced(_ page: TokenPage, _ record: PushRecord) async -> TokenPage {
        guard let channel = try? await store.traces.channel(app.key, lease.name, record.id),
            let index = page.entries.indices.first(where: { page.channel($0).elementsEqual(channel) })
        else { return page }
        var page = page
        page[route: index].insert(.traced)
        return page
    }
}
