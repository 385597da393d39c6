public import Logging

/// APNs's two services for one app's broadcast channels, with one provider token for both.
public struct BroadcastClient: Sendable {
    public let sender: BroadcastSender
    public let channels: BroadcastChannelManager

    /// Two management requests, one after the other, must fit into the lease under which a worker makes channels.
    static let longestManagementRequest: Duration = .seconds(15)

    /// - Parameters:
    ///   - kind: the lane that sends broadcasts; management requests always go through libcurl
    ///   - configuration: that of the push service
    ///   - manageOrigin: the origin of the management service, which has the same root certificates
    public init(
        _ kind: TransportKind, configuration: APNsConfiguration, manageOrigin: String, bundleID: String, logger: Logger
    ) throws(APNsClientError) {
        let settings = try LaneSettings(configuration, logger)
        var management = configuration
        management.origin = manageOrigin
        management.requestTimeout = min(management.requestTimeout, Self.longestManagementRequest)
        _ = try management.check()
        sender = try BroadcastSender(kind, settings)
        channels = BroadcastChannelManager(management, bundleID: bundleID, tokens: settings.tokens)
    }
}
