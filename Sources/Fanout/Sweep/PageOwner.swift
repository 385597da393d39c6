import Delivery
import LiveActivity
import Logging
import Store

/// The owner of a page's answers: a run under a lease (`PageDelivery`), or the follower of a settled page's open
/// requests (`OpenPage`). Both read and settle answers in the one order that stands here.
protocol PageOwner: Sendable {
    var context: WorkerContext { get }
    var app: WorkerApp { get }
    var name: ActivityName { get }
    /// The state of the run that sent the page.
    var state: RunState { get }
    var log: Logger { get }

    /// Repeats a call that Redis does not answer, for as long as the owner may go on.
    /// - Returns: nil if there is no answer
    func attempt<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T?
    /// Repeats a call without which the owner cannot go on.
    func ask<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T?
    /// Follows the open requests of a page that is settled. Before that, their answers would find nothing.
    func follow(_ sent: SentPage?)
    /// The page could not be settled.
    /// - Parameter ends: the `end`s that the page delivered
    func lose(_ sent: SentPage?, _ ends: RetrySettlement) async
}

/// Answers for entries of a page: all that came in time, or some that came late.
struct AnsweredPage {
    /// Each entry has the route of its outcome.
    let page: TokenPage
    /// One for each platform of the page.
    let parts: [PlatformOutcome]
    /// The outcomes of all parts.
    let outcome: PageOutcome
    let details: PageDetails
    /// The page was settled before these answers came.
    let isLate: Bool
}

/// Facts about a sent page that hold for all of its answers.
struct PageDetails: Sendable {
    let record: PushRecord
    /// The size under which the push's first token counts, if the page may have it.
    let firstSize: PushSize?
    /// For a start: the notes of earlier starts, by channel.
    let notes: [[UInt8]: [UInt8]]
    /// The exchanges of the entry with the route `traced`.
    let trace: ExchangeRecorder?
    /// When the span of its answers begins. Nil: the push has no spans.
    let spanStart: Int64?
    /// The page has waiting channels, and not new targets.
    let isRetry: Bool
}

/// A page with a decision for each entry, and its open requests.
struct SentPage {
    var record: PushRecord
    var report: PageReport
    /// An earlier owner of the task may have sent the page before.
    var isResent = false
    /// The open requests, which are followed once the page is settled. Nil: each entry has a decision.
    var open: OpenPage?
    /// The settlement notes them.
    var requests: [OpenRequest] { open.map { $0.requests.values.map(\.request) } ?? [] }
    /// The channels of the page that have the push.
    func reachedChannels(of page: TokenPage) -> Set<[UInt8]> {
        Set(report.deliveredIndices(page).map { Array(page.channel($0)) })
    }
}

extension PageOwner {
    var store: Store { context.store }

    /// Turns answers into decisions, and does everything that follows from answers before they are settled.
    func read(_ answered: AnsweredPage) async -> PageReport {
        let (page, outcome, details) = (answered.page, answered.outcome, answered.details)
        let record = details.record
        // Before the page is settled, so that a final push has its whole trace.
        if let trace = details.trace { await keep(trace, of: page, besides: outcome.open, record) }
        let reports = answered.parts.map { context.report($0, page, app.key, record) }
        var report = reports.dropFirst().reduce(into: reports[0]) { $0.add($1) }
        await tryPresentAddresses(&report, page, record)
        context.addPageSpan(
            answered.isLate ? "late" : details.isRetry ? "retry" : "page", app.key, record, from: details.spanStart,
            tokens: page.count, report)
        // A platform that refused the push before was not asked again.
        for (part, report) in zip(answered.parts, reports) where !part.isStopped {
            // A part that was refused as a whole is one refusal: its other requests did not leave this machine.
            // Requests with late answers did. A circuit that was open already is no refusal of its own.
            let refusal: [String: Int] = report.errors.isEmpty ? [:] : report.halt.map { [$0.reason: 1] } ?? [:]
            context.metrics.rejected(
                AppPlatform(app.key, part.platform), report.isUnsent && !answered.isLate ? refusal : report.errors,
                app.sender(part.platform)?.reasons)
        }
        if record.isForSeveral, !report.refusals.isEmpty {
            state.change { $0.refuse(record.id, report.refusals) }
        }
        if record.event == .start {
            _ = await attempt { () async throws(StoreError) in
                try await context.removeNotes(app.key, name, page, outcome, report, before: details.notes)
            }
        }
        await updateCircuits(answered, reports)
        if report.delivered > 0 {
            let first = details.firstSize.flatMap { state.reach(record) ? $0 : nil }
            for (part, report) in zip(answered.parts, reports) where report.delivered > 0 {
                let key = AppPlatform(app.key, part.platform)
                context.metrics.arrived(key, record, first: first, now: store.time.now())
            }
            if !context.reachNotes.isEmpty, !record.isTest {
                let reached = Array(report.deliveredIndices(page))
                for note in context.reachNotes { note(app.key, page, reached) }
            }
        }
        return report
    }

    /// Tries a dead address's entry again if its channel told a newer address meanwhile, because the channel would keep
    /// an old state, or get no card. If Redis does not answer, the entry counts as failed.
    private func tryPresentAddresses(_ report: inout PageReport, _ page: TokenPage, _ record: PushRecord) async {
        let dead = report.deadAddresses(page)
        if dead.isEmpty { return }
        let moved = await attempt { () async throws(StoreError) in
            try await store.tokens.moved(app.key, page, dead, for: record)
        }
        for index in moved ?? [] {
            let attempt = Attempt(
                made: Int(page.entries[index].attempt), now: store.time.now(), deadline: record.deadline,
                triesOnce: record.expiry == 0, backoff: context.options.retries, fraction: 0)
            report.retry(index, attempt.again(after: .zero))
        }
    }

    /// Opens or closes the circuits of the page's platforms. The run pauses once all of them are open, unless it goes
    /// on without their channels.
    private func updateCircuits(_ answered: AnsweredPage, _ reports: [PageReport]) async {
        var pauses: [Duration] = []
        for (part, report) in zip(answered.parts, reports) {
            let key = AppPlatform(app.key, part.platform)
            if let pause = await context.updateCircuit(key, report, log) { pauses.append(pause) }
        }
        guard let pause = pauses.min(), pauses.count == answered.parts.count, !state.values.parks else { return }
        // A late answer that opens the circuit ends the run too, if the run still goes on. Late answers are of one
        // platform, and the run may have pages for others.
        if !answered.isLate || app.senders.count == 1 { state.change { $0.pause = pause } }
    }

    private func keep(
        _ trace: ExchangeRecorder, of page: TokenPage, besides open: [Int], _ record: PushRecord
    ) async {
        guard let traced = page.entries.firstIndex(where: { $0.route.contains(.traced) }), !open.contains(traced)
        else { return }
        let number = Int(page.entries[traced].attempt) + 1
        _ = await attempt { () async throws(StoreError) in
            try await context.keep(trace, attempt: number, app.key, name, record)
        }
    }

    /// Settles a page in Redis, then does what is left: timers, removals, outgoing events. If the worker dies in
    /// between, the worker that claims the entry or the name's retries finds that work.
    /// - Parameter sent: the page, if it was sent under a lease
    func finish(as settlement: PageSettlement, _ sent: SentPage? = nil) async {
        let facts = settlement.facts
        let answer = await ask { () async throws(StoreError) in
            // Listed first: nobody finds the dead letters of an unlisted push. A listed push without any is harmless.
            for push in facts.givenUp { try await store.deadLetters.enlist(app.key, name, [push]) }
            return try await settlement.write(store.sweeps, app.key, name, for: context.options.claimAfter)
        }
        guard let answer, answer.keepsLease else { return await lose(sent, facts.ends) }
        follow(sent)
        context.metrics.count(app.key, facts.work)
        if case .late = settlement {
            // A run reports the sum of its pages at its end, but it may have ended by now.
            for (push, tokens) in facts.expired { await context.reportExpired(app.key, push, tokens, log) }
        } else {
            state.change { $0.note(answer, expired: facts.expired) }
        }
        // Without an answer the entry stays pending, and the worker that claims it finds the remaining work.
        _ = await ask { () async throws(StoreError) in
            if let timer = settlement.timer(answer, now: store.time.now()) {
                try await context.scheduleRetries(app.key, name, timer.priority, timer.due)
            }
            if case .late(_, let record) = settlement, record.event == .end {
                // The push may be final, or its request lapsed: then its removals have other fields.
                try await context.applyPendingRemovals(app.key, name)
            } else {
                try await context.apply(facts.removals, app.key, name)
            }
            // The push may be final. A run has a stream entry, and empties the outbox before it acknowledges that. Late
            // answers have none. If this worker dies before, the reconciler tells of the push's end.
            if case .late = settlement { try await context.emptyOutbox(app.key, name) }
        }
    }
}
