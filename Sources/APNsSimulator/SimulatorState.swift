internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import Synchronization

/// The state that all connections of a simulator share.
final class SimulatorState: Sendable {
    let configuration: SimulatorConfiguration
    let judge: Mutex<Judge>
    let channels = Mutex<[ObjectIdentifier: (channel: any Channel, isConnection: Bool)]>([:])
    let fcm: FCMState?
    let logger: Logger
    /// The bodies of responses without a timestamp, made once.
    let bodies: [Reason: [UInt8]]

    init(
        configuration: SimulatorConfiguration, keys: [ProviderTokenCheck.Key], logger: Logger
    ) throws(SimulatorError) {
        self.configuration = configuration
        fcm = try configuration.fcm.map { (fcm) throws(SimulatorError) in try FCMState(configuration, fcm) }
        self.logger = logger
        judge = Mutex(Judge(configuration: configuration, keys: keys, now: Self.now(configuration)))
        bodies = Dictionary(
            uniqueKeysWithValues: Reason.allCases.map { ($0, Array(#"{"reason":"\#($0.rawValue)"}"#.utf8)) })
    }

    /// Milliseconds since 1970, with `clockOffset` seconds added.
    var now: Int { Self.now(configuration) }

    static func now(_ configuration: SimulatorConfiguration) -> Int {
        Int(Date.now.timeIntervalSince1970 * 1_000) + configuration.clockOffset * 1_000
    }

    /// Keeps a channel until it closes. `stop()` closes the kept ones.
    /// - Parameter isConnection: the channel speaks APNs, so `leave()` sends GOAWAY on it.
    func remember(_ channel: any Channel, isConnection: Bool = false) {
        let id = ObjectIdentifier(channel)
        channels.withLock { $0[id] = (channel, isConnection) }
        channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } }
    }

    func report(_ hex: String) -> TokenReport? {
        guard let token = Hexadecimal.decode(hex.utf8) else { return nil }
        return judge.withLock { judge in judge.record.tokens[token].map { judge.record.report(token, $0) } }
    }
}
