import Delivery
import LiveActivity
import Logging
import Store

/// The open requests of a page: they had no answer when the page was settled (ADR 35). Receives the answers and settles
/// them. It needs no lease: an answer counts while the request's id stands in Redis, and the 200 of an `end` always. If
/// this worker dies, the requests lapse after their time, and the name's next retries send the push again.
struct OpenPage: Sendable {
    /// Answers that come within this time are settled together.
    private static let gather: Duration = .milliseconds(20)

    let context: WorkerContext
    private var store: Store { context.store }
    let app: WorkerApp
    let name: ActivityName
    let record: PushRecord
    /// An open request, and how it went out.
    struct Request: Sendable {
        let request: OpenRequest
        let route: TokenPage.Entry.Route
    }

    /// By index in the page.
    let requests: [Int: Request]
    let answers: [PageAnswers]
    /// For a start: the notes of earlier starts, by channel.
    let notes: [[UInt8]: [UInt8]]
    /// The exchanges of the request with the route `traced`.
    let trace: ExchangeRecorder?
    /// How long Redis is asked, on the worker's clock, milliseconds. The requests may lapse before.
    let until: Int64
    /// That of the run that sent the page.
    let state: RunState
    let log: Logger

    /// Returns when each request has its answer.
    func run() async {
        await withDiscardingTaskGroup { group in
            for source in answers {
                group.addTask {
                    while true {
                        var found = await source.next()
                        if found.isEmpty { return }
                        try? await Task.sleep(for: Self.gather)
                        found += source.more()
                        await settle(found)
                    }
                }
            }
        }
    }

    private func settle(_ found: [PageOutcome.Exception]) async {
        var (page, outcome, channels) = (TokenPage(), PageOutcome(), [WaitingChannel]())
        for answer in found {
            guard let open = requests[answer.index] else { continue }
            let settled = settled(answer.outcome)
            if settled == .accepted {
                outcome.accepted += 1
            } else {
                outcome.exceptions.append(.init(index: channels.count, outcome: settled))
            }
            var channel = open.request.channel
            channel.openID = open.request.id
            channels.append(channel)
            page.append(channel, route: open.route)
        }
        let report = context.report(app, page, outcome, record)
        context.metrics.rejected(app.key, report.errors)
        if record.event == .start { await removeNotes(page, outcome, report) }
        if let trace, let traced = page.entries.first(where: { $0.route.contains(.traced) }) {
            await keep(trace, attempt: Int(traced.attempt) + 1)
        }
        _ = await context.updateCircuit(app, report, log)
        if report.delivered > 0 {
            let size = state.reach(record) ? PushSize(targets: record.targetsSoFar) : nil
            context.metrics.arrived(app.key, record, first: size, now: store.time.now())
        }
        await settle(
            RetrySettlement(
                channels, report, endedAt: record.event == .end ? store.time.now() : nil,
                staleBefore: record.event == .start ? context.staleBefore : nil))
    }

    /// Reads an answer for a request whose page is settled. Some requests are as good as unsent: a bad token goes
    /// to the app's other environment with the next retries, and a request that never left is no fault of the app.
    private func settled(_ outcome: PushOutcome) -> PushOutcome {
        let isUnsent =
            switch outcome {
            case .accepted: false
            case .rejected: app.otherTransport != nil && outcome.mayLiveElsewhere
            case .unanswered(let noAnswer): noAnswer.isUnreachable
            }
        return isUnsent ? .unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false)) : outcome
    }

    private func settle(_ settlement: RetrySettlement) async {
        let settled = await ask { () async throws(StoreError) in
            for push in settlement.givenUp { try await store.deadLetters.enlist(app.key, name, [push]) }
            return try await store.sweeps.settleLate(app.key, name, settlement)
        }
        guard case .ok(let firstRetry) = settled else { return }
        context.metrics.count(
            app.key, settlement.finished, retries: settlement.retries,
            duplicatesPossible: settlement.duplicatesPossible)
        for (push, tokens) in settlement.expired { await context.reportExpired(app.key, push, tokens, log) }
        _ = await ask { () async throws(StoreError) in
            if record.event == .end {
                // The push may be final, or its request lapsed: then its removals have other fields.
                try await context.applyPendingRemovals(app.key, name)
            } else {
                try await context.apply(settlement.removals, app.key, name)
            }
            // The channels' next pushes may go out now.
            if let firstRetry { try await context.scheduleRetries(app.key, name, record.priority, firstRetry) }
            // The push may be final, and nobody else has a stream entry for it. If this worker dies before, the
            // reconciler tells of its end.
            try await context.emptyOutbox(app.key, name)
        }
    }

    /// Repeats a call that Redis does not answer.
    private func ask<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T? {
        await repeated(log, while: { context.now < until }, body)
    }

    private func removeNotes(_ page: TokenPage, _ outcome: PageOutcome, _ report: PageReport) async {
        _ = await ask { () async throws(StoreError) in
            try await context.removeNotes(app.key, name, page, outcome, report, before: notes)
        }
    }

    private func keep(_ trace: ExchangeRecorder, attempt: Int) async {
        _ = await ask { () async throws(StoreError) in
            try await context.keep(trace, attempt: attempt, app.key, name, record)
        }
    }
}
