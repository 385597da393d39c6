import LiveActivity
import Logging
import Spans
import Store
import Synchronization
import Threads

/// The parts that all work of a worker shares. A worker has one. All of its state is in Redis, in the leases that it
/// holds and in the circuits. Folder Dispatch processes stream entries with it; folder Sweep delivers pages with it.
/// It is a class, so that each step of a push copies nothing.
final class WorkerContext: Sendable {
    let store: Store
    let apps: [AppKey: WorkerApp]
    /// A reload changes some of the options.
    let live: Replaceable<WorkerOptions>
    var options: WorkerOptions { live.current }
    /// The worker's name with its random part: the owner of leases and the consumer of the streams.
    let owner: String
    let circuits: AppCircuits
    let metrics: WorkerMetrics
    let logger: Logger
    let leases: LeaseKeeper
    /// Takes the spans of pushes. Nil: there are no traces.
    let spans: SpanExporter?
    let drain = Drain()
    let leftEntries = LeftEntries()
    let verdictLog = VerdictLog()
    let alarmThrottle = AlarmThrottle()
    let pauses = KnownPauses()
    private let outboxes = SharedCall<NamedApp, Void, StoreError>()
    let openRequests = OpenRequests()
    let reachNotes: [ReachNote.Note]

    private struct NamedApp: Hashable {
        var app: AppKey
        var name: ActivityName
    }

    init(
        store: Store, apps: [AppKey: WorkerApp], live: Replaceable<WorkerOptions>, owner: String,
        circuits: AppCircuits, metrics: WorkerMetrics, logger: Logger, leases: LeaseKeeper, spans: SpanExporter?
    ) {
        (self.store, self.apps, self.live, self.owner) = (store, apps, live, owner)
        (self.circuits, self.metrics, self.logger) = (circuits, metrics, logger)
        (self.leases, self.spans, clock) = (leases, spans, live.current.now)
        reachNotes = ReachNote.all.map { $0.begin(store) }
    }

    /// The worker's clock, milliseconds.
    var now: Int64 { clock() }
    private let clock: @Sendable () -> Int64

    /// Tells the pool what to do with the stream entry afterwards.
    enum Disposition {
        /// Nothing is left to do, or the remaining work is stored where a worker finds it.
        case acknowledge
        /// The entry stays pending. A worker claims it after `claimAfter`.
        case leave
    }

    /// Empties a name's outbox. Tasks of this worker that end pushes of the name at once share the call, so they do not
    /// tell the same ends. Two workers may still do so at the same moment.
    func emptyOutbox(_ app: AppKey, _ name: ActivityName) async throws(StoreError) {
        let events = store.events
        guard events.isOn(app) else { return }
        try await outboxes.result(NamedApp(app: app, name: name)) { () async throws(StoreError) in
            try await events.empty(app, name)
        }
    }

    func scheduleRetries(
        _ app: AppKey, _ name: ActivityName, _ priority: PushPriority, _ due: Int64
    ) async throws(StoreError) {
        try await store.queue.schedule(.retries(app, name, priority), due: due)
    }
}

/// The open requests of this worker: names them, and receives their answers until the worker ends.
final class OpenRequests: Sendable {
    private let worker = UInt32.random(in: .min ... .max)
    private let number = Atomic<UInt32>(0)
    private typealias Page = @Sendable () async -> Void
    private let pages: AsyncStream<Page>
    private let input: AsyncStream<Page>.Continuation

    init() { (pages, input) = AsyncStream.makeStream() }

    func nextID() -> OpenRequest.ID {
        OpenRequest.ID(worker: worker, number: number.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Receives the answers of a page. Call it when the page is settled: before that an answer would find nothing.
    func follow(_ page: @escaping @Sendable () async -> Void) { input.yield(page) }

    /// Runs until `finish`, and then until each request has its answer: no longer than one request may take.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await page in pages { group.addTask { await page() } }
        }
    }

    func finish() { input.finish() }
}

/// Set when this worker has left an entry pending, or cannot know: somebody has to claim it.
final class LeftEntries: Sendable {
    private let flag = Atomic(false)
    func note() { flag.store(true, ordering: .releasing) }
    /// Whether it was set since the last call.
    func take() -> Bool { flag.exchange(false, ordering: .acquiringAndReleasing) }
}

/// Set once, when the worker is asked to stop. No new page begins after that.
final class Drain: Sendable {
    private let flag = Atomic(false)
    var isOn: Bool { flag.load(ordering: .acquiring) }
    func begin() { flag.store(true, ordering: .releasing) }
}
