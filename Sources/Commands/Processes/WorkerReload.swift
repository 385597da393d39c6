import APNsClient
import Fanout
import LiveActivity
import Settings
import Store
import Threads

/// The parts of a running worker that a reload replaces.
struct WorkerReload: Sendable {
    /// An app's keys, for all of its transports.
    struct Keys: Sendable {
        let first: APNsKeyRing
        let other: APNsKeyRing

        init(_ app: AppSettings) throws(SettingsError) {
            let keys = try ProviderKeyFile.keys(of: app)
            (first, other) = (APNsKeyRing(keys.first), APNsKeyRing(keys.other))
        }
    }

    let keys: [AppKey: Keys]
    let parts: [WorkerPart]
    let worker: Worker

    /// Reads all files first, so that an unusable one changes nothing.
    func apply(_ settings: Settings) throws {
        let apps = settings.apps.filter { keys[$0.key] != nil && $0.usesAPNs }
        let read = try apps.map { ($0.key, try ProviderKeyFile.keys(of: $0)) }
        let changes = try parts.map { try $0.reload(settings) }
        for (app, next) in read {
            _ = try keys[app]?.first.replace(with: next.first)
            _ = try keys[app]?.other.replace(with: next.other)
        }
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
        settings.apps.flatMap { app in (app.keyPairs + app.otherKeyPairs).compactMap { app[$0.file] } }
    }
}
