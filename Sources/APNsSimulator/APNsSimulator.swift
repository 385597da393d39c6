public import Logging
public import ServiceLifecycle

public final class APNsSimulator: Service {
    public let port: Int
    public let controlPort: Int?
    public let caFile: String
    public let keys: [ProviderKey]

    init(port: Int, controlPort: Int?, caFile: String, keys: [ProviderKey]) {
        self.port = port
        self.controlPort = controlPort
        self.caFile = caFile
        self.keys = keys
    }

    /// Listening when it returns.
    public static func start(
        _ configuration: SimulatorConfiguration,
        logger: Logger
    ) async throws(SimulatorError) -> APNsSimulator { fatalError() }

    /// Until graceful shutdown or cancellation, then `stop()`.
    public func run() async throws { fatalError() }
    public func stop() async { fatalError() }
    public func snapshot() -> SimulatorRecord { fatalError() }
    public func token(_ hex: String) -> TokenReport? { fatalError() }
    public func tokens() -> [TokenReport] { fatalError() }
    public func setFaults(_ faults: Faults) { fatalError() }
    public func reset() { fatalError() }
    public static func isDead(token: [UInt8], share: Double, seed: UInt64) -> Bool { fatalError() }
}
