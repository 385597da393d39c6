import LiveActivity
import Logging
import ServiceLifecycle
import Store
import Synchronization
import Threads

/// The readers, one for each partition, and the permits of one kind of stream. The worker reads entries only while it
/// has permits for them. The others stay in the stream for other workers. An app that floods the stream, or whose APNs
/// is slow, uses up its own permits. Then the worker reads entries of the other apps only, until a permit of that app
/// is free.
struct Pool: Sendable {
    let stream: WorkStream
    let apps: [AppKey]
    let readers: [WorkReader]
    let context: WorkerContext
    let permits: FairSemaphore
    private let finished = FinishedEntries()

    /// How long a read waits that leaves out apps without a free permit. They may have one again soon.
    private static let shortRead = Duration.milliseconds(5)
    private var logger: Logger { context.logger }

    /// Reads until the drain begins. Returns when all entries that it read are processed.
    func run() async {
        await withDiscardingTaskGroup { group in
            for reader in readers { group.addTask { await run(reader) } }
        }
    }

    private func run(_ reader: WorkReader) async {
        await withDiscardingTaskGroup { group in
            var failures = 0
            while !context.drain.isOn {
                // Wait for a permit before the read, but do not take it yet. If there is only one, claimed entries
                // would never get it. If a claim takes it during the read, the read entry waits for the next one.
                await permits.untilFree()
                if context.drain.isOn { break }
                let open = apps.map { (app: $0, permits: permits.free(for: $0)) }.filter { $0.permits > 0 }
                // COUNT applies to each app's stream of each partition. With a fraction of the fewest permits, all
                // entries fit together.
                guard let count = open.map(\.permits).min() else { continue }
                do throws(StoreError) {
                    let found = try await reader.read(
                        stream, open.map(\.app), consumer: context.owner,
                        count: max(1, min(64, count) / (open.count * readers.count)),
                        block: open.count == apps.count ? .seconds(5) : Self.shortRead)
                    if failures > 0 { logger.notice("Redis answers again", metadata: ["stream": "\(stream)"]) }
                    failures = 0
                    await start(found, in: &group)
                } catch {
                    if context.drain.isOn { break }
                    // Redis may have given entries to this worker in an answer that was lost.
                    context.leftEntries.note()
                    failures += 1
                    if failures == 1 { logger.error("cannot read work: \(error)", metadata: ["stream": "\(stream)"]) }
                    if error.isMissingGroup { try? await context.store.queue.prepare(apps) }
                    let delay = Backoff.ofReads.pause(after: failures) * Double.random(in: 0.5..<1)
                    try? await cancelWhenGracefulShutdown { try await Task.sleep(for: delay) }
                }
            }
        }
    }

    /// Claims entries that other workers left unfinished, as many as there are permits.
    func claim(in group: inout DiscardingTaskGroup) async {
        for app in apps where !context.drain.isOn {
            let open = permits.free(for: app)
            guard open > 0 else {
                context.leftEntries.note()
                continue
            }
            do throws(StoreError) {
                let found = try await context.store.queue.claim(
                    stream, app, consumer: context.owner, idle: context.options.claimAfter, count: min(16, open))
                if !found.entries.isEmpty {
                    context.leftEntries.note()
                    logger.info(
                        "claimed work that another worker left", metadata: ["entries": "\(found.entries.count)"])
                    context.metrics.tookOver(app, entries: found.entries.count)
                }
                await start(found, in: &group)
            } catch {
                context.leftEntries.note()
                logger.debug("cannot claim work: \(error)")
            }
        }
    }

    private func start(
        _ found: WorkQueue.Batch, in group: inout DiscardingTaskGroup
    ) async {
        if !found.unreadable.isEmpty {
            logger.error("dropped stream entries in an unknown format: \(found.unreadable.map(\.id))")
            try? await context.store.queue.acknowledge(found.unreadable)
        }
        let read = context.now
        for entry in found.entries {
            let app = entry.item.app
            let hasPermit = permits.takeIfFree(app)
            group.addTask {
                // A claim took the permit. This entry waits behind its own app's entries, and delays no other app.
                if !hasPermit { await permits.take(app) }
                await handle(entry, readAt: read)
                permits.give(app)
            }
        }
    }

    /// Processes an entry to its end. The caller holds a permit for it.
    /// - Parameter readAt: when the entry was read, boot-clock milliseconds
    private func handle(_ entry: WorkEntry, readAt: Int64) async {
        var entry = entry
        // Another worker may have claimed the entry while it waited for a permit here. A claimed entry is not
        // acknowledged while another worker holds its task.
        if context.now - readAt > context.options.claimAfter.milliseconds / 2 { entry.isTakenOver = true }
        guard context.leases.take(entry) else { return context.leftEntries.note() }
        if await context.handle(entry) == .acknowledge {
            do throws(StoreError) {
                try await finished.acknowledge(entry.place, in: context.store.queue)
            } catch {
                context.leftEntries.note()
                logger.debug("cannot acknowledge an entry, so it is processed again: \(error)")
            }
        } else {
            context.leftEntries.note()
        }
        context.leases.release(entry)
    }

    func interrupt() async { for reader in readers { await reader.interrupt() } }
    func close() { for reader in readers { reader.close() } }
}

/// Acknowledges entries whose work is done. Entries of one stream that finish while Redis is asked share the next call.
private final class FinishedEntries: Sendable {
    /// A pool has one kind of stream.
    private struct Stream: Hashable {
        var app: AppKey
        var partition: Partition
    }

    private let waiting = Mutex<[Stream: [WorkEntry.StreamPosition]]>([:])
    private let calls = SharedCall<Stream, Void, StoreError>()

    func acknowledge(_ place: WorkEntry.StreamPosition, in queue: WorkQueue) async throws(StoreError) {
        let stream = Stream(app: place.app, partition: place.partition)
        waiting.withLock { $0[stream, default: []].append(place) }
        try await calls.result(stream) { [self] () async throws(StoreError) in
            try await queue.acknowledge(waiting.withLock { $0.removeValue(forKey: stream) ?? [] })
        }
    }
}

extension Backoff {
    /// The pause between reads while Redis does not answer.
    static let ofReads = Backoff(first: .milliseconds(100), cap: .seconds(2))
}
