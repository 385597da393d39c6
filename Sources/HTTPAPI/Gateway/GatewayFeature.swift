import Logging
import ServiceLifecycle
import Threads

/// The services that a feature runs in a gateway. `ofFeatures` lists them.
struct GatewayFeature: Sendable {
    /// A gateway that begins to serve.
    struct Running: Sendable {
        let live: Replaceable<GatewayResponder.Served>
        let recorder: ActionRecorder
        let logger: Logger
        /// Epoch milliseconds.
        let clock: @Sendable () -> Int64
    }

    /// The feature's services. They stop after the requests have ended.
    let services: @Sendable (Running) -> [any Service]
}
