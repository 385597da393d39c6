import FCMClient
import Fanout
import Lanes
import LiveActivity
import Settings
import Store

struct FCMKeys: PlatformKeys {
    static let name = PlatformName.fcm
    private let account: LiveServiceAccount

    static func files(_ app: AppSettings) -> [AppField] { [.serviceAccountFile] }

    init?(_ app: AppSettings) throws(SettingsError) {
        guard app.usesFCM else { return nil }
        account = LiveServiceAccount(try ServiceAccountFile(app).account)
    }

    func read(_ app: AppSettings) throws -> () throws -> Void {
        guard app.usesFCM else { return {} }
        let next = try ServiceAccountFile(app, inPlaceOf: account).account
        return { account.replace(with: next) }
    }

    func serve(_ worker: inout WorkerApp, _ app: AppSettings, _ boot: Boot) throws {
        let (project, store) = (account.current.projectID, boot.store)
        var configuration = FCMClientConfiguration(app, boot.settings, account)
        configuration.share = FleetAccessTokens(store, project: project)
        configuration.clock = store.time.now
        let transport = try LaneTransport(
            boot.settings.apns.transport, configuration: configuration, logger: boot.logger)
        worker.senders.append(
            FCMSender(project: project, transport: transport, turns: store.deliveryRates, now: store.time.now))
    }
}

extension FCMClientConfiguration {
    init(_ app: AppSettings, _ settings: Settings, _ accounts: LiveServiceAccount) {
        self.init(
            origin: app.fcmOrigin, accounts: accounts, caFile: app[.fcmCAFile], lanes: settings.apns.lanes,
            requestTimeout: settings.apns.requestTimeout)
        self.app = app.key.rawValue
    }
}
