import HTTPAPI
import ServiceLifecycle
import Settings

/// The part that a feature has in the processes of a deployment. `ofFeatures` lists them.
struct ProcessFeature: Sendable {
    /// Adds what a gateway needs to know of an app, from the app's settings and the files that these name.
    var app: @Sendable (AppSettings, inout GatewayApp) throws -> Void = { _, _ in }
    /// Refuses a gateway's configuration, once its apps are known.
    var check: @Sendable (GatewayConfiguration) throws -> Void = { _ in }
    /// The findings of `doctor` about an app.
    var findings: @Sendable (AppSettings) -> [Finding] = { _ in [] }
    /// Services that run beside a worker.
    var besideWorker: @Sendable (Boot) -> [any Service] = { _ in [] }
}
