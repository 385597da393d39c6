public import APNsWire
public import LiveActivity
public import Logging
internal import NGHTTP2

/// Sends through nghttp2 and OpenSSL on event loops of its own: `lanes` threads with one HTTP/2 connection each, which
/// share one provider token. What it knows of a request is exact, because it reads the frames: whether it was sent,
/// processed, refused.
///
/// Certificate and host name are always checked, there are no redirects, and no proxy is used: environment variables
/// cannot send the provider token anywhere else.
public final class NGHTTP2Transport: PushTransport {
    private let lanes: LanePool

    /// Throws when the configuration cannot send: a key that is none, a CA file without a certificate, …
    public init(configuration: APNsConfiguration, logger: Logger) throws(APNsClientError) {
        let settings = try LaneSettings(configuration, logger)
        lanes = try LanePool(configuration.lanes) { (seat) throws(APNsClientError) in
            guard let poll = EventPoll(), poll.add(seat.descriptor, .read) else {
                throw .system("no descriptor for a lane's epoll")
            }
            return { HTTP2Lane(settings, seat, poll).run() }
        }
    }

    public var load: Int { lanes.load }

    public func send(
        _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission
    ) async -> PageOutcome {
        await lanes.send(page, .devices(push), while: permission)
    }

    public func close() async { await lanes.close() }
}
