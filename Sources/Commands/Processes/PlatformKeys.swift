import Fanout
import Lanes
import Settings

/// An app's keys on one platform, in a worker.
protocol PlatformKeys: Sendable {
    static var name: PlatformName { get }
    /// The files that are watched.
    static func files(_ app: AppSettings) -> [AppField]
    /// Reads and checks the files, so that a wrong one ends the process at start and not at the first push.
    /// - Returns: nil if the app does not use the platform
    init?(_ app: AppSettings) throws(SettingsError)
    /// Reads the files again.
    /// - Returns: what puts their keys into use
    func read(_ app: AppSettings) throws -> () throws -> Void
    /// Gives a worker's app its sender on the platform.
    func serve(_ worker: inout WorkerApp, _ app: AppSettings, _ boot: Boot) throws
}

extension WorkerReload {
    static let platforms: [any PlatformKeys.Type] = [APNsKeys.self, FCMKeys.self]
}
