import Store
import Synchronization

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
