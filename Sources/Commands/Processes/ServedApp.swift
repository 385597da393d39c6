import APNsClient
import FCMClient
import Fanout
import Lanes
import LiveActivity
import Logging
import Settings
import Store

/// Makes the senders of one app for a worker, one for each of its platforms.
struct ServedApp {
    private let app: AppSettings
    private let settings: Settings
    private let keys: WorkerReload.Keys
    private let store: Store
    private let logger: Logger

    init(_ app: AppSettings, _ settings: Settings, _ keys: WorkerReload.Keys, _ store: Store, _ logger: Logger) {
        (self.app, self.settings, self.keys, self.store, self.logger) = (app, settings, keys, store, logger)
    }

    func workerApp() throws -> WorkerApp {
        var senders: [any PlatformSender] = []
        var broadcasts: BroadcastService?
        if app.usesAPNs {
            let configuration = try apnsConfiguration()
            senders.append(try apns(configuration))
            broadcasts = try self.broadcasts(configuration)
        }
        if app.usesFCM { senders.append(try fcm()) }
        return WorkerApp(
            key: app.key, senders: senders, bundleID: app[.bundleID] ?? "", broadcasts: broadcasts,
            endAfter: settings.endAfter(app), rate: settings.deliveryRate(app))
    }

    private func apnsConfiguration() throws -> APNsConfiguration {
        var configuration = try WorkCommand.configuration(app, settings, keys.apns?.first)
        configuration.share = FleetProviderTokens(store, app: app.key)
        configuration.clock = store.time.now
        return configuration
    }

    private func apns(_ configuration: APNsConfiguration) throws -> APNsSender {
        let transport = settings.apns.transport
        return APNsSender(
            bundleID: try app.required(.bundleID),
            transport: try LaneTransport(transport, configuration: configuration, logger: logger),
            otherTransport: try app.otherOrigin.map { origin in
                var other = configuration
                other.origin = origin
                other.keys = keys.apns?.other ?? other.keys
                return try LaneTransport(transport, configuration: other, logger: logger)
            })
    }

    private func broadcasts(_ configuration: APNsConfiguration) throws -> BroadcastService? {
        try app.manageOrigin.map { origin in
            BroadcastService(
                try BroadcastClient(
                    settings.apns.transport, configuration: configuration, manageOrigin: origin,
                    bundleID: try app.required(.bundleID), logger: logger))
        }
    }

    private func fcm() throws -> FCMSender {
        var client = try WorkCommand.fcmConfiguration(app, settings, keys.fcm)
        let project = client.accounts.current.projectID
        client.share = FleetAccessTokens(store, project: project)
        client.clock = store.time.now
        let transport = try LaneTransport(settings.apns.transport, configuration: client, logger: logger)
        return FCMSender(project: project, transport: transport, turns: store.deliveryRates, now: store.time.now)
    }
}
