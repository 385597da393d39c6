public import APNsWire
internal import Curl
public import LiveActivity
public import Logging
internal import OpenSSL
internal import Synchronization

/// Sends through libcurl: `lanes` threads with one HTTP/2 connection each, which share one provider token. Pages go to
/// the lane with the least to do. Connections are made with the first page and kept for hours.
///
/// Certificate and host name are always checked, redirects never followed, and no proxy is used: environment variables
/// cannot send the provider token anywhere else.
public final class CurlTransport: PushTransport {
    private let lanes: [LaneMailbox]

    /// Throws when the configuration cannot send: a key that is none, a CA file without a certificate, …
    public init(configuration: APNsConfiguration, logger: Logger) throws(APNsClientError) {
        let key = try configuration.check()
        let settings = LaneSettings(
            endpoint: Endpoint(
                origin: configuration.origin, caFile: configuration.caFile,
                requestTimeoutMilliseconds: max(1, Int(configuration.requestTimeout / .milliseconds(1)))),
            maximumStreams: configuration.maximumStreams,
            tokens: ProviderTokenSource(keyID: configuration.keyID, teamID: configuration.teamID, key: key),
            logger: logger)
        var lanes: [LaneMailbox] = []
        for number in 0..<configuration.lanes {
            guard let mailbox = LaneMailbox(),
                NamedThread.start("apns-lane-\(number)", { Lane(settings, mailbox).run() })
            else {
                lanes.forEach { $0.beginClosing() }
                throw .system("no thread or descriptor for lane \(number) of \(configuration.lanes)")
            }
            lanes.append(mailbox)
        }
        self.lanes = lanes
    }

    /// Lanes end by themselves once what is in flight has ended.
    deinit { lanes.forEach { $0.beginClosing() } }

    public var load: Int { lanes.reduce(0) { $0 + $1.load.load(ordering: .relaxed) } }

    public func send(_ page: TokenPage, _ push: PreparedPush) async -> PageOutcome {
        guard !page.isEmpty else { return PageOutcome() }
        let lane = lanes.min { $0.load.load(ordering: .relaxed) < $1.load.load(ordering: .relaxed) }
        guard let lane else { return Self.cancelled(page) }
        lane.load.add(page.count, ordering: .relaxed)
        let outcome: PageOutcome = await withCheckedContinuation { continuation in
            let request = PageRequest(page: page, push: .devices(push), continuation: continuation)
            if !lane.post(request) { continuation.resume(returning: Self.cancelled(page)) }
        }
        lane.load.subtract(page.count, ordering: .relaxed)
        return outcome
    }

    private static func cancelled(_ page: TokenPage) -> PageOutcome {
        PageOutcome(all: page, .unanswered(.init(.cancelled, mayHaveBeenDelivered: false)))
    }

    public func close() async {
        lanes.forEach { $0.beginClosing() }
        for lane in lanes { await lane.waitForEnd() }
    }
}
