internal import Glibc
internal import Logging
internal import NIOCore
internal import Synchronization

/// The state that all connections of a simulator share.
final class Shared: Sendable {
    let configuration: SimulatorConfiguration
    let judge: Mutex<Judge>
    let channels = Mutex<[ObjectIdentifier: (channel: any Channel, isConnection: Bool)]>([:])
    let logger: Logger
    /// The bodies of responses without a timestamp, made once.
    let bodies: [Reason: [UInt8]]

    init(configuration: SimulatorConfiguration, keys: [ProviderTokenCheck.Key], logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        judge = Mutex(Judge(configuration: configuration, keys: keys, now: Self.now(offset: configuration.clockOffset)))
        bodies = Dictionary(
            uniqueKeysWithValues: Reason.allCases.map { ($0, Array(#"{"reason":"\#($0.rawValue)"}"#.utf8)) })
    }

    /// Milliseconds since 1970, with `clockOffset` seconds added.
    var now: Int { Self.now(offset: configuration.clockOffset) }

    private static func now(offset: Int) -> Int {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return (time.tv_sec + offset) * 1_000 + time.tv_nsec / 1_000_000
    }
}

extension Shared {
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
