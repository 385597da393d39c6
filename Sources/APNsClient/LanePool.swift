internal import APNsWire
internal import Curl
internal import LiveActivity
internal import OpenSSL
internal import Synchronization

/// The lanes of one transport, each a thread with a mailbox. Pages go to the lane with the least to do. Lanes end by
/// themselves, once what is in flight has ended, when the pool is let go of.
final class LanePool: Sendable {
    private let lanes: [LaneMailbox]

    /// `name` of the threads; `body` makes what one runs until its mailbox is closing.
    init(
        _ count: Int, name: String = "apns-lane", _ body: (LaneMailbox) throws(APNsClientError) -> @Sendable () -> Void
    ) throws(APNsClientError) {
        var lanes: [LaneMailbox] = []
        do throws(APNsClientError) {
            for number in 0..<count {
                guard let mailbox = LaneMailbox(), NamedThread.start("\(name)-\(number)", try body(mailbox)) else {
                    throw APNsClientError.system("no thread or descriptor for lane \(number) of \(count)")
                }
                lanes.append(mailbox)
            }
        } catch {
            lanes.forEach { $0.beginClosing() }
            throw error
        }
        self.lanes = lanes
    }

    deinit { lanes.forEach { $0.beginClosing() } }

    /// Tokens queued or in flight.
    var load: Int { lanes.reduce(0) { $0 + $1.load.load(ordering: .relaxed) } }

    func send(
        _ page: TokenPage, _ push: LanePush, while permission: any SendPermission = StandingPermission()
    ) async -> PageOutcome {
        guard !page.isEmpty else { return PageOutcome() }
        let lane = lanes.min { $0.load.load(ordering: .relaxed) < $1.load.load(ordering: .relaxed) }
        guard let lane else { return Self.cancelled(page) }
        lane.load.add(page.count, ordering: .relaxed)
        let outcome: PageOutcome = await withCheckedContinuation { continuation in
            let request = PageRequest(page: page, push: push, permission: permission, continuation: continuation)
            if !lane.post(request) { continuation.resume(returning: Self.cancelled(page)) }
        }
        lane.load.subtract(page.count, ordering: .relaxed)
        return outcome
    }

    private static func cancelled(_ page: TokenPage) -> PageOutcome {
        PageOutcome(all: page, .unanswered(.init(.cancelled, mayHaveBeenDelivered: false)))
    }

    /// Returns when what was in flight has ended.
    func close() async {
        lanes.forEach { $0.beginClosing() }
        for lane in lanes { await lane.waitForEnd() }
    }
}
