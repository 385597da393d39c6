public import APNsWire
public import LiveActivity
public import Logging
internal import Threads

/// Sends through nghttp2 and OpenSSL on its own event loops. `lanes` threads have one HTTP/2 connection each and share
/// one provider token. It reads the frames, so it knows exactly whether a request was sent, processed or refused.
///
/// Certificate and host name are always checked. There are no redirects and no proxy is used, so environment variables
/// cannot send the provider token anywhere else.
public final class NGHTTP2Transport: PushTransport {
    private let lanes: LanePool

    /// - Throws: if the configuration cannot send, for example with an unusable key or a CA file without a certificate
    public init(configuration: APNsConfiguration, logger: Logger) throws(APNsClientError) {
        let settings = try LaneSettings(configuration, logger)
        lanes = try LanePool(configuration.lanes) { (handle) throws(APNsClientError) in
            guard let poll = EventPoll(), poll.add(handle.descriptor, .read) else {
                throw .system("no descriptor for a lane's epoll")
            }
            return { NGHTTP2Lane(settings, handle, poll).run() }
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
