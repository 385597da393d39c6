import Console
import LiveActivity
import Logging
import ServiceLifecycle
import Threads

/// The part that a feature has in a gateway. `ofFeatures` lists them.
struct GatewayFeature: Sendable {
    /// A gateway that begins to serve.
    struct Running: Sendable {
        let live: Replaceable<GatewayResponder.Served>
        let recorder: ActionRecorder
        let logger: Logger
        /// Epoch milliseconds.
        let clock: @Sendable () -> Int64
    }

    /// Services that run in a gateway. They stop after the requests have ended.
    var services: @Sendable (Running) -> [any Service] = { _ in [] }
    /// A way to sign in to the console.
    var signInWay: @Sendable (Replaceable<GatewayResponder.Served>) -> SignInWay? = { _ in nil }
}

extension GatewayConfiguration {
    /// A test has features of its own.
    var features: [GatewayFeature] {
        get { extras[[GatewayFeature].self] ?? GatewayFeature.ofFeatures }
        set { extras[[GatewayFeature].self] = newValue }
    }
}
