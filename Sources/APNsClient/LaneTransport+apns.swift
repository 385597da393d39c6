import Delivery
public import Lanes
public import Logging

extension LaneTransport {
    /// Lanes to APNs.
    /// - Throws: if the configuration cannot send, for example with an unusable key or a CA file without a certificate
    public convenience init(
        _ kind: TransportKind, configuration: APNsConfiguration, logger: Logger
    ) throws(APNsClientError) {
        try self.init(kind, configuration.lanes, LaneSettings(configuration, logger))
    }

    convenience init(
        _ kind: TransportKind, _ lanes: Int, _ settings: LaneSettings, name: String = "apns-lane"
    ) throws(APNsClientError) {
        do throws(LaneError) {
            try self.init(lanes, kind, settings, name: name)
        } catch {
            throw .system(error.description)
        }
    }
}

extension PlatformName { public static let apns = PlatformName(label: "apns", title: "APNs") }

extension LaneSettings {
    /// - Parameter tokens: nil: the app's tokens are signed for these lanes alone
    init(
        _ configuration: APNsConfiguration, _ logger: Logger, tokens: ProviderTokenSource? = nil
    ) throws(APNsClientError) {
        let tokens = if let tokens { tokens } else { try configuration.providerTokens() }
        guard let origin = Origin(configuration.origin) else { throw .origin(configuration.origin) }
        let credentials = ProviderCredentials(tokens: tokens, origin: origin.text, logger: logger)
        self.init(
            LanePlatform(.apns, credentials: credentials) { Rejection($0) }, origin: origin,
            caFile: configuration.caFile, requestTimeout: configuration.requestTimeout,
            maximumStreams: configuration.maximumStreams, app: configuration.app, clock: configuration.clock,
            logger: logger)
    }
}
