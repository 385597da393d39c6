internal import Curl
public import Delivery
public import LiveActivity
internal import Threads

/// Sends through lanes: `lanes` threads, which have one HTTP/2 connection each and share one credential. Pages go where
/// streams are free (`PageQueue`). Connections are made when work needs them, and kept for hours. When the transport is
/// released, each lane ends after its requests in flight. Certificate and host name are always checked. Redirects are
/// never followed and no proxy is used, so the environment cannot redirect the credential.
public final class LaneTransport: PushTransport {
    private let queue: PageQueue
    private let requests = RequestCount()
    public let requestTimeout: Duration

    /// - Parameter name: how the threads' names begin
    public init(
        _ count: Int, _ kind: TransportKind, _ settings: LaneSettings, name: String
    ) throws(LaneError) {
        guard let queue = PageQueue(lanes: count) else { throw LaneError("no descriptors for \(count) lanes") }
        do throws(LaneError) {
            for number in 0..<count {
                let run = try kind.lane.body(settings, LaneHandle(queue: queue, number: number))
                guard NamedThread.start("\(name)-\(number)", run) else {
                    throw LaneError("no thread for lane \(number) of \(count)")
                }
            }
        } catch {
            queue.beginClosing()
            throw error
        }
        self.queue = queue
        requestTimeout = .milliseconds(settings.requestTimeout)
    }

    deinit { queue.beginClosing() }

    /// How many requests wait or are in flight.
    public var load: Int { requests.value }
    public var lanes: LaneCounts {
        let (total, connected, waiting) = queue.lanes
        return LaneCounts(total: total, connected: connected, inFlight: max(0, load - waiting))
    }

    public func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
    ) async -> PageOutcome {
        guard !page.isEmpty else { return PageOutcome() }
        requests.add(page.count)
        let outcome: PageOutcome = await withCheckedContinuation { continuation in
            let answers = PageAnswers(page.count, of: page.numbers, handover, requests, continuation)
            let shared = SharedPage(page, push, permission, answers)
            if !queue.post(shared) { PagePart(shared: shared, range: page.entries.indices).settleUnsent(.cancelled) }
        }
        requests.add(outcome.open.count - page.count)
        return outcome
    }

    public func close() async {
        queue.beginClosing()
        await queue.waitForEnd()
    }
}

/// The lanes that a transport can have.
public enum TransportKind: String, Sendable, Hashable, CaseIterable {
    /// libcurl's multi interface.
    case libcurl
    /// nghttp2 and OpenSSL. This lane reads the frames, so it knows if a request was sent, processed or refused.
    case nghttp2

    /// A fault of the loaded library that operators should know, and its remedy. Nil if it has none.
    public var fault: (problem: String, remedy: String)? {
        guard self == .libcurl, CurlLibrary.resetsFinishedStreams else { return nil }
        let version = CurlLibrary.version.text
        return (
            "libcurl \(version) resets each stream after its answer; some servers then close the connection, and up to"
                + " an eighth of the requests may be delivered twice",
            "leave worker.transport at nghttp2, or install libcurl 8.14 or later"
        )
    }

    var lane: any Lane.Type {
        switch self {
        case .libcurl: CurlLane.self
        case .nghttp2: NGHTTP2Lane.self
        }
    }
}
