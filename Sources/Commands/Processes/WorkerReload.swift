import Fanout
import LiveActivity
import Settings
import Store
import Threads

/// The parts of a running worker that a reload replaces.
struct WorkerReload: Sendable {
    /// An app's keys, for each of its platforms.
    static func keys(_ app: AppSettings) throws(SettingsError) -> [any PlatformKeys] {
        var keys: [any PlatformKeys] = []
        for platform in platforms { if let found = try platform.init(app) { keys.append(found) } }
        return keys
    }

    let keys: [AppKey: [any PlatformKeys]]
    let parts: [WorkerPart]
    let worker: Worker

    /// Reads all files first, so that an unusable one changes nothing.
    func apply(_ settings: Settings) throws {
        let read = try settings.apps.flatMap { app in try (keys[app.key] ?? []).map { try $0.read(app) } }
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
        settings.apps.flatMap { app in platforms.flatMap { $0.files(app) }.compactMap { app[$0] } }
    }
}
