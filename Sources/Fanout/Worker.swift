import Delivery
import LiveActivity
public import Logging
public import ServiceLifecycle
public import Spans
public import Store
import Threads

/// One worker. Readers take entries from the streams; `WorkerContext.handle` processes each to its end. Timers renew
/// leases and entries, claim entries that other workers left, move due tasks and look for lost ones.
///
/// On graceful shutdown the readers stop, pages in flight are settled, and unfinished work goes back to the streams. A
/// killed worker leaves its entries pending. Others claim them after `claimAfter` and continue at the checkpoint.
public struct Worker: Service {
    private let store: Store
    private let apps: [WorkerApp]
    private let tasks: [@Sendable () async -> Void]
    let options: Replaceable<WorkerOptions>
    private let logger: Logger
    private let spans: SpanExporter?
    /// The name with a random part.
    public let consumer: String

    /// - Parameters:
    ///   - spans: takes the spans of pushes; nil: there are no traces
    ///   - tasks: other work of the worker's. It begins with the worker's own, and ends at the graceful shutdown.
    public init(
        store: Store, apps: [WorkerApp], options: WorkerOptions, logger: Logger, spans: SpanExporter? = nil,
        tasks: [@Sendable () async -> Void] = []
    ) {
        (self.store, self.spans) = (store, spans)
        (self.apps, self.tasks) = (apps, tasks)
        var options = options
        for app in apps {
            options.endAfter[app.key] = app.endAfter
            options.rates[app.key] = app.rate
        }
        self.options = Replaceable(options)
        consumer = "\(options.name)-\(PushID.random().description.prefix(8))"
        var logger = logger
        logger[metadataKey: "worker"] = "\(consumer)"
        self.logger = logger
    }

    /// Uses other options from the next decision on. An option that needs a restart is the same in `next`. `run` reads
    /// most of these options once.
    public func reload(_ next: WorkerOptions) {
        options.change { options in
            var next = next
            // These options belong to the process and are no settings.
            (next.name, next.startHold, next.now) = (options.name, options.startHold, options.now)
            options = next
        }
    }

    public func run() async throws {
        let context = makeContext()
        let drain = context.drain
        let keys = apps.map(\.key)
        let pools = WorkStream.allCases.map { stream in
            Pool(
                stream: stream, apps: keys, readers: store.readers(), context: context,
                permits: FairSemaphore(Self.permits(stream, context.options.concurrency), keys))
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            guard await prepare(keys, context) else { return }
            await inheritHalts(keys, context.circuits, context.metrics)
            logger.notice("ready for work", metadata: ["apps": "\(keys.map(\.rawValue).joined(separator: ","))"])
            await work(context, pools)
            await leave(pools)
            logger.notice("drained: begun work is settled or returned to the streams")
        } onCancelOrGracefulShutdown: {
            logger.notice("draining: no new work begins")
            drain.begin()
            // A separate command wakes each blocked read. A read that cannot be woken ends at its own time limit.
            for pool in pools { Task { await pool.interrupt() } }
        }
    }

    /// The apps' first transports get circuits.
    private func makeContext() -> WorkerContext {
        let now = options.current.now
        let circuits = AppCircuits()
        let served = apps.map { app in
            var served = app
            served.senders = app.senders.map { $0.behind(circuits, of: app.key, now: now) }
            return (app.key, served)
        }
        return WorkerContext(
            store: store, apps: Dictionary(uniqueKeysWithValues: served), live: options, owner: consumer,
            circuits: circuits, metrics: WorkerMetrics(apps.flatMap(\.platforms)), logger: logger,
            leases: LeaseKeeper(now: now),
            spans: spans)
    }

    /// Works until the pools are drained and each request has its answer.
    private func work(_ context: WorkerContext, _ pools: [Pool]) async {
        let endings = EndingLog(store, context.metrics, logger)
        // This task is not cancelled with the others: it tells of the last pages, which are settled during the
        // shutdown.
        let told = Task { await endings.run() }
        let open = Task { await context.openRequests.run() }
        await withTaskGroup { group in
            let timers = Timers(context: context, apps: apps.map(\.key), pools: pools)
            group.addTask { await timers.renewLeases() }
            await withDiscardingTaskGroup { work in
                work.addTask { await timers.run() }
                for pool in pools { work.addTask { await pool.run() } }
                for task in tasks { work.addTask { await task() } }
            }
            group.cancelAll()
        }
        context.openRequests.finish()
        await open.value
        endings.finish()
        await told.value
    }

    private func leave(_ pools: [Pool]) async {
        for app in apps {
            for sender in app.senders { await sender.close() }
            await app.broadcasts?.close()
        }
        for pool in pools { pool.close() }
        // If all workers end, the next one knows from here whether the clock was set back meanwhile.
        try? await store.time.look()
        try? await store.queue.leave(apps.map(\.key), consumer: consumer)
        try? await store.heartbeats.remove(consumer)
    }

    /// How many entries of a stream are processed at once, for all apps. Priority 5 has a smaller share of its own.
    static func permits(_ stream: WorkStream, _ concurrency: Int) -> Int {
        switch stream {
        case .namesHigh: max(2, concurrency)
        case .namesLow: max(1, concurrency / 4)
        case .shardsHigh: 3
        case .shardsLow: 1
        }
    }

    /// Begins with a half-open circuit for apps that were halted before this worker started. A fleet that restarts with
    /// the same wrong key sends one request for each worker. With the right key, the first push clears the alarm.
    private func inheritHalts(_ keys: [AppKey], _ circuits: AppCircuits, _ metrics: WorkerMetrics) async {
        guard let alarms = try? await store.alarms.list(keys) else { return }
        for alarm in alarms {
            if let cause = Halt.Cause.allCases.first(where: { $0.alarm == alarm.kind }) {
                circuits.inherit(AppPlatform(alarm.app, alarm.platform), Halt(cause: cause, reason: alarm.reason))
                metrics.circuit(AppPlatform(alarm.app, alarm.platform), isOpen: true)
            }
        }
    }

    /// Waits for Redis, makes the streams, and reads what is paused before any work begins.
    /// - Returns: false if the worker was asked to stop meanwhile
    private func prepare(_ keys: [AppKey], _ context: WorkerContext) async -> Bool {
        var attempt = 0
        while !context.drain.isOn {
            do throws(StoreError) {
                // Before any work: even the first timer and the first provider token have Redis's time.
                try await store.time.measure()
                try await store.queue.prepare(keys)
                context.pauses.update(try await store.pauses.list(keys))
                return true
            } catch {
                if attempt == 0 { logger.error("waiting for Redis: \(error)") }
                attempt += 1
                let delay = Backoff.ofReads.pause(after: attempt) * Double.random(in: 0.5..<1)
                try? await cancelWhenGracefulShutdown { try await Task.sleep(for: delay) }
            }
        }
        return false
    }
}
