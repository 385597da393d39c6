public import Delivery
public import Lanes
internal import LiveActivity
public import Logging

/// APNs's two services for one app's broadcast channels, with one provider token for both.
public struct BroadcastClient: Sendable {
    public let sender: BroadcastSender
    public let channels: BroadcastChannelManager

    /// Two management requests, one after the other, must fit into the lease under which a worker makes channels.
    static let longestManagementRequest: Duration = .seconds(15)

    /// - Parameters:
    ///   - kind: the lane that sends broadcasts; management requests always go through libcurl
    ///   - configuration: the push service's configuration
    ///   - manageOrigin: the origin of the management service, which has the same root certificates
    public init(
        _ kind: TransportKind, configuration: APNsConfiguration, manageOrigin: String, bundleID: String, logger: Logger
    ) throws(APNsClientError) {
        let tokens = try configuration.providerTokens()
        var management = configuration
        management.origin = manageOrigin
        management.requestTimeout = min(management.requestTimeout, Self.longestManagementRequest)
        _ = try management.check()
        sender = try BroadcastSender(kind, LaneSettings(configuration, logger, tokens: tokens))
        channels = BroadcastChannelManager(management, bundleID: bundleID, tokens: tokens)
    }
}

/// Sends the broadcasts of one app, one request for each push. A lane of their own keeps them from waiting behind a
/// page of tokens. It handles deadlines, new connections and expired provider tokens as it does for pages.
public final class BroadcastSender: Sendable {
    private let lane: LaneTransport

    init(_ kind: TransportKind, _ settings: LaneSettings) throws(APNsClientError) {
        lane = try LaneTransport(kind, 1, settings, name: "apns-broadcast")
    }

    /// Sends one broadcast (`PreparedPush.broadcast`) within two request deadlines. It never throws, because a missing
    /// answer is an outcome too.
    /// - Parameter permission: no request begins once it has ended, for example while the process was suspended.
    public func send(
        _ broadcast: PreparedPush, while permission: any SendPermission = AlwaysPermitted()
    ) async -> PushOutcome {
        var page = TokenPage()
        page.append(channel: CollectionOfOne(0), token: CollectionOfOne(0), registeredAt: 0)
        let outcome = await lane.send(page, broadcast, while: permission)
        return outcome.exceptions.first?.outcome ?? .accepted
    }

    /// Waits for requests in flight, within their deadlines. Later broadcasts come back as cancelled.
    public func close() async { await lane.close() }
}
