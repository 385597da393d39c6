internal import APNsWire
internal import LiveActivity
internal import OpenSSL
internal import Synchronization
internal import Threads

/// The lanes of one transport, each a thread, and the page queue that they share (`PageQueue`). When the pool is
/// released, each lane ends once its requests in flight have ended.
final class LanePool: Sendable {
    private let queue: PageQueue
    /// Tokens that wait or are in flight.
    private let tokens = Atomic(0)

    /// - Parameter name: how the threads' names begin
    init(
        _ count: Int, _ kind: TransportKind, _ settings: LaneSettings, name: String = "apns-lane"
    ) throws(APNsClientError) {
        guard let queue = PageQueue(lanes: count) else { throw .system("no descriptors for \(count) lanes") }
        do throws(APNsClientError) {
            for number in 0..<count {
                let run = try kind.lane.body(settings, LaneHandle(queue: queue, number: number))
                guard NamedThread.start("\(name)-\(number)", run) else {
                    throw APNsClientError.system("no thread for lane \(number) of \(count)")
                }
            }
        } catch {
            queue.beginClosing()
            throw error
        }
        self.queue = queue
    }

    deinit { queue.beginClosing() }

    var load: Int { tokens.load(ordering: .relaxed) }

    func send(
        _ page: TokenPage, _ push: LanePush, while permission: any SendPermission = StandingPermission()
    ) async -> PageOutcome {
        guard !page.isEmpty else { return PageOutcome() }
        tokens.add(page.count, ordering: .relaxed)
        let outcome: PageOutcome = await withCheckedContinuation { continuation in
            let shared = SharedPage(page, push, permission, continuation)
            if !queue.post(shared) { PagePart(shared: shared, range: page.entries.indices).settleUnsent(.cancelled) }
        }
        tokens.subtract(page.count, ordering: .relaxed)
        return outcome
    }

    /// Returns when the requests in flight have ended.
    func close() async {
        queue.beginClosing()
        await queue.waitForEnd()
    }
}
