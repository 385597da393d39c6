import APNsClient
import FCMClient
import Fanout
import LiveActivity
import Settings
import Store
import Threads

/// The parts of a running worker that a reload replaces.
struct WorkerReload: Sendable {
    /// An app's keys, for all of its transports.
    struct Keys: Sendable {
        /// Nil: the app does not use APNs.
        private(set) var apns: (first: APNsKeyRing, other: APNsKeyRing)?
        /// Nil: the app does not use FCM.
        private(set) var fcm: LiveServiceAccount?

        init(_ app: AppSettings) throws(SettingsError) {
            if app.usesAPNs {
                let keys = try ProviderKeyFile.keys(of: app)
                apns = (APNsKeyRing(keys.first), APNsKeyRing(keys.other))
            }
            if app.usesFCM { fcm = LiveServiceAccount(try ServiceAccountFile(app).account) }
        }

        /// Reads the files again.
        /// - Returns: what puts their keys into use
        func read(_ app: AppSettings) throws -> () throws -> Void {
            let keys = app.usesAPNs && apns != nil ? try ProviderKeyFile.keys(of: app) : nil
            let account = try app.usesFCM ? fcm.map { try ServiceAccountFile(app, inPlaceOf: $0).account } : nil
            return {
                if let keys {
                    _ = try apns?.first.replace(with: keys.first)
                    _ = try apns?.other.replace(with: keys.other)
                }
                if let account { fcm?.replace(with: account) }
            }
        }
    }

    let keys: [AppKey: Keys]
    let parts: [WorkerPart]
    let worker: Worker

    /// Reads all files first, so that an unusable one changes nothing.
    func apply(_ settings: Settings) throws {
        let read = try settings.apps.compactMap { try keys[$0.key]?.read($0) }
        let changes = try parts.map { try $0.reload(settings) }
        for use in read { try use() }
        for change in changes { change() }
        var options = settings.worker
        options.endAfter = Self.endAfter(settings)
        options.rates = Self.rates(settings)
        worker.reload(options)
    }

    static func endAfter(_ settings: Settings) -> [AppKey: Duration] {
        Dictionary(settings.apps.compactMap { app in settings.endAfter(app).map { (app.key, $0) } }) { $1 }
    }

    static func rates(_ settings: Settings) -> [AppKey: DeliveryRate] {
        Dictionary(settings.apps.compactMap { app in settings.deliveryRate(app).map { (app.key, $0) } }) { $1 }
    }

    /// The files that are watched: keys. Others are read again with the whole configuration.
    static func files(_ settings: Settings) -> [String] {
        settings.apps.flatMap { app in
            ((app.keyPairs + app.otherKeyPairs).map(\.file) + [.serviceAccountFile]).compactMap { app[$0] }
        }
    }
}
