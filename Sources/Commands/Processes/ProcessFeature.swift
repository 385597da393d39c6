import HTTPAPI
import ServiceLifecycle
import Settings

/// The part that a feature has in the processes of a deployment. `ofFeatures` lists them.
struct ProcessFeature: Sendable {
    /// Adds what a gateway needs to know of an app, from the app's settings and the files that these name.
    var app: @Sendable (AppSettings, inout GatewayApp) throws -> Void = { _, _ in }
    /// Refuses a gateway's configuration, once its apps are known.
    var check: @Sendable (GatewayConfiguration) throws -> Void = { _ in }
    /// The findings of `doctor` about an app's settings, and the files that these name.
    var findings: @Sendable (AppSettings, Settings) -> [Finding] = { _, _ in [] }
    /// The findings of `doctor` about the app's ways from this machine. Pushes need none of them.
    var ways: @Sendable (AppSettings, Settings) async -> [Finding] = { _, _ in [] }
    /// Services that run beside a worker. They stop when it has drained.
    var besideWorker: @Sendable (Boot) -> [any Service] = { _ in [] }
    /// Work of the worker's own.
    var inWorker: @Sendable (Boot) throws -> WorkerPart? = { _ in nil }
    /// The meanings of the metrics that it has in a worker, by name.
    var metrics: [String: String] = [:]
}

/// Work of a feature in a worker, and its part in a reload of the worker.
struct WorkerPart: Sendable {
    /// Tasks that end when the worker begins to drain.
    var tasks: [@Sendable () async -> Void] = []
    /// Reads the files that the settings name, and returns the change that uses them. All parts read before anything is
    /// changed.
    var reload: @Sendable (Settings) throws -> @Sendable () -> Void
}
