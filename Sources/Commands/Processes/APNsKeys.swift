import APNsClient
import Fanout
import Lanes
import Settings
import Store

struct APNsKeys: PlatformKeys {
    static let name = PlatformName.apns
    private let first, other: APNsKeyRing

    static func files(_ app: AppSettings) -> [AppField] { (app.keyPairs + app.otherKeyPairs).map(\.file) }

    init?(_ app: AppSettings) throws(SettingsError) {
        guard app.usesAPNs else { return nil }
        let keys = try ProviderKeyFile.keys(of: app)
        (first, other) = (APNsKeyRing(keys.first), APNsKeyRing(keys.other))
    }

    func read(_ app: AppSettings) throws -> () throws -> Void {
        guard app.usesAPNs else { return {} }
        let keys = try ProviderKeyFile.keys(of: app)
        return {
            _ = try first.replace(with: keys.first)
            _ = try other.replace(with: keys.other)
        }
    }

    func serve(_ worker: inout WorkerApp, _ app: AppSettings, _ boot: Boot) throws {
        let (transport, logger) = (boot.settings.apns.transport, boot.logger)
        let bundleID = try app.required(.bundleID)
        var configuration = try WorkCommand.configuration(app, boot.settings, first)
        configuration.share = FleetProviderTokens(boot.store, app: app.key)
        configuration.clock = boot.store.time.now
        worker.senders.append(
            APNsSender(
                bundleID: bundleID,
                transport: try LaneTransport(transport, configuration: configuration, logger: logger),
                otherTransport: try app.otherOrigin.map { origin in
                    var configuration = configuration
                    (configuration.origin, configuration.keys) = (origin, other)
                    return try LaneTransport(transport, configuration: configuration, logger: logger)
                }))
        worker.broadcasts = try app.manageOrigin.map { origin in
            BroadcastService(
                try BroadcastClient(
                    transport, configuration: configuration, manageOrigin: origin, bundleID: bundleID, logger: logger))
        }
    }
}
