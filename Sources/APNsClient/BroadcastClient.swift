public import Logging

/// Both of APNs's services for one app's broadcast channels, under one provider token.
public struct BroadcastClient: Sendable {
    public let sender: BroadcastSender
    public let channels: ChannelManager

    /// Two requests to the management, one after the other, must fit into the lease that channels are made under.
    static let longestManagementRequest: Duration = .seconds(15)

    /// `configuration` is the push service's; `manageOrigin` the management's, with the same roots.
    public init(
        configuration: APNsConfiguration, manageOrigin: String, bundleID: String, logger: Logger
    ) throws(APNsClientError) {
        let settings = try LaneSettings(configuration, logger)
        var management = configuration
        management.origin = manageOrigin
        management.requestTimeout = min(management.requestTimeout, Self.longestManagementRequest)
        _ = try management.check()
        sender = try BroadcastSender(settings)
        channels = ChannelManager(management, bundleID: bundleID, tokens: settings.tokens)
    }
}
