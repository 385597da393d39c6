public import LiveActivity
public import Logging
import Metrics
import ServiceLifecycle
public import Store
public import Threads

/// Sends an app's outgoing events to its webhook while this worker runs. One worker at a time does so, under a lease.
/// Another takes over when it ends or stalls; events whose answer it did not write down are sent again.
public struct WebhookSender: Sendable {
    /// The pauses while the webhook fails.
    private static let backoff = Backoff(first: .seconds(1), cap: .seconds(300))
    /// The part of a lease that is more than a request can take.
    private static let margin: Duration = .seconds(20)
    /// Most of a pause without a look whether this worker still has the lease.
    private static let look: Duration = .seconds(5)
    /// A failure is an alarm from then on.
    private static let alarmAfter: Duration = .seconds(60)

    private let store: Store
    private let app: AppKey
    private let live: Replaceable<Webhook>
    private let owner: String
    /// The longest pause between attempts.
    private let longestPause: Duration
    private let counters: [Outcome: Counter]
    private let logger: Logger

    /// The outcome of events.
    private enum Outcome: String, CaseIterable { case delivered, retried, dead }
    public static let metric = "lamplighter_webhook_events_total"

    /// - Parameters:
    ///   - live: the webhook. A reload may replace it. It is read once for a request and its lease.
    ///   - process: the name of the worker. A random part is added, so that two senders never have the same lease.
    ///   - longestPause: tests shorten it
    public init(
        store: Store, app: AppKey, live: Replaceable<Webhook>, process: String,
        longestPause: Duration = .seconds(300), logger: Logger
    ) {
        (self.store, self.app, self.live, self.longestPause, self.logger) = (store, app, live, longestPause, logger)
        owner = "\(process)-\(PushID.random().description.prefix(8))"
        counters = Dictionary(
            uniqueKeysWithValues: Outcome.allCases.map { outcome in
                let labels = [("app", app.rawValue), ("outcome", outcome.rawValue)]
                return (outcome, Counter(label: Self.metric, dimensions: labels))
            })
    }

    private var isEnding: Bool { Task.isShuttingDownGracefully || Task.isCancelled }

    /// Runs until the shutdown begins. A request in flight is finished.
    public func run() async {
        let queue = store.webhookQueue()
        await withTaskCancellationOrGracefulShutdownHandler {
            var batch = WebhookBatch()
            while !isEnding {
                do throws(StoreError) {
                    let target = live.current
                    guard try await queue.hold(app, owner: owner, for: target.timeout + Self.margin) else {
                        await sleep(Self.look)
                        continue
                    }
                    let failure = try await queue.failure(app)
                    if let pause = failure?.pause(now: store.time.now(), longest: longestPause) {
                        await sleep(min(Self.look, pause))
                        continue
                    }
                    let waiting = try await queue.read(app, limit: WebhookBatch.most)
                    if !waiting.isEmpty, !isEnding {
                        try await send(waiting, to: target, failure, &batch, queue)
                    }
                } catch {
                    if isEnding { break }
                    logger.warning("the webhook waits for Redis: \(error)", metadata: metadata())
                    await sleep(.seconds(1))
                }
            }
        } onCancelOrGracefulShutdown: {
            Task { await queue.interrupt() }
        }
        try? await queue.giveBack(app, owner: owner)
        queue.close()
    }

    private func sleep(_ duration: Duration) async {
        try? await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
    }

    /// Posts the next events once, and writes down what the answer means.
    /// - Parameter target: the webhook whose timeout the lease was taken for.
    private func send(
        _ waiting: [StoredEvent], to target: Webhook, _ failure: WebhookFailure?, _ batch: inout WebhookBatch,
        _ queue: WebhookQueue
    ) async throws(StoreError) {
        let chosen = batch.next(waiting.map { (entry: $0.entry, bytes: $0.text.utf8.count) })
        let answer = await target.post(waiting[chosen].map(\.text), of: app, now: store.time.now())
        // If Redis does not take what follows, the same events are sent again.
        switch batch.answered(answer) {
        case .goOn: return
        case .delivered(let refused, let refusal):
            try await queue.giveUp(app, waiting[..<refused], reason: refusal)
            try await queue.delivered(app, waiting[chosen], endsFailure: failure != nil)
            count([.delivered: chosen.count, .dead: refused])
            if refused > 0 { report(refused, refusal) }
            guard let failure else { return }
            logger.notice("the webhook takes events again", metadata: metadata(["attempts": "\(failure.attempts)"]))
            try await store.alarms.clear(app, .webhook)
        case .backOff:
            count([.retried: chosen.count])
            try await backOff(target, answer, failure, queue)
        }
    }

    private func backOff(
        _ target: Webhook, _ answer: WebhookResult, _ last: WebhookFailure?, _ queue: WebhookQueue
    ) async throws(StoreError) {
        let now = store.time.now()
        let (attempts, reason) = ((last?.attempts ?? 0) + 1, answer.reason)
        let pause = Self.pause(
            after: attempts, asked: answer.retryAfter, longest: longestPause, fraction: .random(in: 0.5..<1))
        let failure = WebhookFailure(
            // A time ahead was stored before Redis's clock was set back.
            since: min(last?.since ?? now, now), attempts: attempts, reason: reason, next: now + pause.milliseconds)
        try await queue.failed(app, failure)
        if last == nil {
            logger.warning("the webhook does not take events", metadata: metadata(["reason": "\(reason)"]))
        }
        let dead = try await queue.giveUp(
            app, addedBefore: now - target.giveUpAfter.milliseconds, reason: reason)
        count([.dead: dead])
        if dead > 0 { report(dead, reason) }
        if now - failure.since >= Self.alarmAfter.milliseconds {
            try await store.alarms.raise(app, .webhook, "\(target.host) does not take events: \(reason)")
        }
    }

    /// The pause before the next request: no shorter than the webhook asks for with `Retry-After`.
    /// - Parameter longest: no answer postpones the events for longer
    static func pause(after attempts: Int, asked: Int?, longest: Duration, fraction: Double) -> Duration {
        min(longest, max(Self.backoff.pause(after: attempts) * fraction, .seconds(asked ?? 0)))
    }

    private func count(_ events: [Outcome: Int]) {
        for (outcome, number) in events where number > 0 { counters[outcome]?.increment(by: number) }
    }

    private func report(_ events: Int, _ reason: String) {
        logger.error(
            "events are given up; see `lamplighter events dead`",
            metadata: metadata(["events": "\(events)", "reason": "\(reason)"]))
    }

    private func metadata(_ more: Logger.Metadata = [:]) -> Logger.Metadata {
        more.merging(["app": "\(app)", "webhook": "\(live.current.host)"]) { $1 }
    }
}
