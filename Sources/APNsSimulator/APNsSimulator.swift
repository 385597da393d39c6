public import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import OpenSSL
public import ServiceLifecycle
internal import Synchronization
internal import TLSChannel

/// A simulator of Apple's push service on a loopback port. It speaks TLS and HTTP/2 and makes all checks itself. It
/// produces faults on request and records what each token received.
///
///     let simulator = try await APNsSimulator.start(configuration, logger: logger)
///     // … point a client at simulator.url with simulator.caFile …
///     print(simulator.snapshot().accepted)
///     await simulator.stop()
public final class APNsSimulator: Service {
    /// The port of APNs.
    public let port: Int
    /// The port of channel management. Nil if there is none.
    public let managePort: Int?
    /// The port of FCM. Nil if there is none.
    public let fcmPort: Int?
    /// The key file of FCM's service account. Nil without FCM.
    public let serviceAccountFile: String?
    private let controlPort: Int?
    /// PEM file of the simulator's CA, for `ca_file`.
    public let caFile: String
    /// The keys whose owners may send. If the configuration has none, this is the key that the simulator made.
    public let keys: [ProviderKey]

    private let shared: SimulatorState
    private let group: MultiThreadedEventLoopGroup
    private let listeners: Listeners
    private let isStopped = Atomic(false)

    private init(
        _ shared: SimulatorState, _ group: MultiThreadedEventLoopGroup, _ listeners: Listeners, caFile: String,
        serviceAccountFile: String?, keys: [ProviderKey]
    ) {
        self.shared = shared
        self.group = group
        self.caFile = caFile
        self.keys = keys
        self.listeners = listeners
        self.serviceAccountFile = serviceAccountFile
        port = listeners.push?.localAddress?.port ?? 0
        managePort = listeners.manage?.localAddress?.port
        fcmPort = listeners.fcm?.localAddress?.port
        controlPort = listeners.control?.localAddress?.port
    }

    /// `https://host:port`, for `apns.url`.
    public var url: String { "https://" + Self.authority(shared.configuration.host, port) }
    /// `https://host:port`, for `apns.manage_url`.
    public var manageURL: String? { managePort.map { "https://" + Self.authority(shared.configuration.host, $0) } }
    /// `https://host:port`, for `fcm.url`.
    public var fcmURL: String? { fcmPort.map { "https://" + Self.authority(shared.configuration.host, $0) } }
    /// `http://host:port`. All its paths begin with `/simulator`. Nil without a control interface.
    public var controlURL: String? { controlPort.map { "http://" + Self.authority(shared.configuration.host, $0) } }

    static func authority(_ host: String, _ port: Int) -> String {
        (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }

    /// Starts a simulator. It listens when this returns.
    public static func start(
        _ configuration: SimulatorConfiguration, logger: Logger
    ) async throws(SimulatorError) -> APNsSimulator {
        try configuration.validate()
        let certificates = try Certificates.prepare(
            directory: configuration.certificateDirectory, host: configuration.host,
            life: configuration.certificateLife, keys: configuration.ownKeys)
        let ownKeys = certificates.providerKeyFiles.map { key in
            ProviderKey(
                keyID: key.keyID, teamID: Certificates.simulatorTeamID, material: .file(key.path),
                bundleIDs: configuration.bundleIDs)
        }
        let keys = (configuration.keys.isEmpty ? ownKeys : configuration.keys).map { key in
            var key = key
            key.environment = configuration.keyEnvironments[key.keyID] ?? key.environment
            return key
        }
        let readKeys = try keys.map { (key) throws(SimulatorError) in try key.read() }
        let shared = try SimulatorState(configuration: configuration, keys: readKeys, logger: logger)
        let tls: TLSIdentity
        do {
            tls = try TLSIdentity(certificates.server, applicationProtocol: "h2")
        } catch {
            throw .configuration(field: certificates.caFile, "cannot use the certificates: \(error)")
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: configuration.threads)
        do throws(SimulatorError) {
            let listeners = try await listen(group, configuration, shared, tls)
            let fcmURL = listeners.fcm?.localAddress?.port.map { "https://" + authority(configuration.host, $0) }
            let account = try fcmURL.flatMap { (url) throws(SimulatorError) in try shared.fcm?.open(at: url) }
            let simulator = APNsSimulator(
                shared, group, listeners, caFile: certificates.caFile, serviceAccountFile: account, keys: keys)
            simulator.logStart()
            return simulator
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private struct Listeners {
        var push: (any Channel)?
        var manage: (any Channel)?
        var fcm: (any Channel)?
        var control: (any Channel)?

        var all: [any Channel] { [push, manage, fcm, control].compactMap { $0 } }
    }

    private static func listen(
        _ group: MultiThreadedEventLoopGroup, _ configuration: SimulatorConfiguration, _ shared: SimulatorState,
        _ tls: TLSIdentity
    ) async throws(SimulatorError) -> Listeners {
        var listeners = Listeners()
        listeners.push = try await listen(group, configuration.host, configuration.port) { channel in
            let faults = shared.judge.withLock { $0.faults }
            try prepare(channel, shared, tls, faults) { APNsConnection(.push, shared) }
        }
        listeners.manage = try await listen(group, configuration.host, configuration.managePort) { channel in
            let faults = shared.judge.withLock { $0.faults }
            try prepare(channel, shared, tls, faults) { APNsConnection(.channels, shared) }
        }
        if let fcm = shared.fcm {
            listeners.fcm = try await listen(group, configuration.host, configuration.fcm?.port) { channel in
                let faults = fcm.judge.withLock { $0.faults }
                try prepare(channel, shared, tls, faults, idle: fcm.idleTimeout) {
                    FCMConnection(fcm, channel.eventLoop)
                }
            }
        }
        listeners.control = try await listen(group, configuration.host, configuration.controlPort) { channel in
            shared.remember(channel)
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: true)
            try channel.pipeline.syncOperations.addHandler(ControlHandler(shared: shared))
        }
        return listeners
    }

    private static func listen(
        _ group: MultiThreadedEventLoopGroup, _ host: String, _ port: Int?,
        _ prepare: @escaping @Sendable (any Channel) throws -> Void
    ) async throws(SimulatorError) -> (any Channel)? {
        guard let port else { return nil }
        do {
            return try await ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 1_024)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try prepare(channel) } }
                .bind(host: host, port: port).get()
        } catch {
            // NIO's description is for programmers, so use the system's text for the error.
            let why = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw .cannotListen(host: host, port: port, why)
        }
    }

    /// - Parameter idle: how long a connection without a request stays open
    private static func prepare(
        _ channel: any Channel, _ shared: SimulatorState, _ tls: TLSIdentity, _ faults: Faults, idle: TimeAmount? = nil,
        _ service: () -> any ConnectionService
    ) throws {
        if faults.refuseConnections { return channel.close(promise: nil) }
        if faults.silence == .beforeTLS { return shared.remember(channel) }
        shared.remember(channel, isConnection: true)
        try channel.pipeline.syncOperations.addHandler(TLSHandler(try TLSSession(tls)))
        if let idle { try channel.pipeline.syncOperations.addHandler(IdleStateHandler(readTimeout: idle)) }
        try channel.pipeline.syncOperations.addHandler(ConnectionHandler(service: service(), shared: shared))
    }

    private func logStart() {
        shared.logger.info("APNs simulator listens on \(url)", metadata: ["ca_file": "\(caFile)"])
        if let fcmURL {
            let file = serviceAccountFile ?? ""
            shared.logger.info("FCM listens on \(fcmURL)", metadata: ["service_account_file": "\(file)"])
        }
        if let manageURL { shared.logger.info("channel management listens on \(manageURL)") }
        if let controlURL { shared.logger.info("simulator record and faults: \(controlURL)/simulator/record") }
        for key in keys {
            var metadata: Logger.Metadata = ["key_id": "\(key.keyID)", "team_id": "\(key.teamID)"]
            if case .file(let path) = key.material { metadata["key_file"] = "\(path)" }
            shared.logger.info("simulator accepts provider key", metadata: metadata)
        }
    }

    // MARK: Life

    /// Runs until graceful shutdown, then calls `leave()`. On cancellation it calls `stop()`.
    public func run() async throws {
        do {
            try await gracefulShutdown()
            await leave()
        } catch {
            await stop()
        }
    }

    /// Shuts down like an APNs server: sends GOAWAY on every connection, answers the requests that arrived, and then
    /// stops. Responses that take longer than `limit` are lost.
    public func leave(within limit: Duration = .seconds(3)) async {
        for listener in [listeners.push, listeners.fcm] { try? await listener?.close() }
        let connections = tellConnections(ServerLeaves())
        await withTaskGroup { group in
            group.addTask { for connection in connections { try? await connection.closeFuture.get() } }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            // Close the connections: cancelling the tasks does not end the wait for a close future.
            for connection in connections { connection.close(mode: .all, promise: nil) }
            group.cancelAll()
        }
        await stop()
    }

    /// Closes the connections without a request, as FCM does after its idle timeout.
    public func closeIdleConnections() { tellConnections(IdleStateHandler.IdleStateEvent.read) }

    @discardableResult
    private func tellConnections(_ event: any Sendable) -> [any Channel] {
        let connections = shared.channels.withLock { $0.values.filter(\.isConnection).map(\.channel) }
        for connection in connections { connection.pipeline.fireUserInboundEventTriggered(event) }
        return connections
    }

    /// Closes the listeners and all connections. May be called repeatedly.
    public func stop() async {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        for listener in listeners.all { try? await listener.close() }
        let channels = shared.channels.withLock { $0.values.map(\.channel) }
        for channel in channels { channel.close(mode: .all, promise: nil) }
        try? await group.shutdownGracefully()
    }

    /// The state of FCM. Nil without it.
    var fcm: FCMState? { shared.fcm }

    // MARK: The record

    public func snapshot() -> SimulatorRecord { shared.judge.withLock { $0.record.snapshot } }
    /// The report of one token. `hex` may be in either case. Nil if no request came for it.
    public func token(_ hex: String) -> TokenReport? { shared.report(hex) }

    /// Reports of all tokens, in no order. It copies all of them.
    public func tokens() -> [TokenReport] {
        let recorder = shared.judge.withLock { $0.record }
        return recorder.tokens.tables.joined().map { recorder.report($0.key, $0.value) }
    }

    /// Reports of all channels in the order of their creation, including those deleted since the last reset.
    public func channels() -> [ChannelReport] { shared.judge.withLock { $0.channelReports } }
    public func channel(_ id: String) -> ChannelReport? { shared.judge.withLock { $0.channelReport(id) } }
    /// The newest request of this kind since the start or the last reset. Fast mode keeps none of a device.
    public func newest(_ kind: RawRequest.Kind) -> RawRequest? { shared.judge.withLock { $0.newest }[kind] }

    /// Deletes a channel without its owner's request. False if there is no such channel.
    public func deleteChannel(_ id: String) -> Bool {
        let now = shared.now
        return shared.judge.withLock { $0.channels.delete(id, now: now) }
    }

    /// The current faults. A scenario changes them.
    public var faults: Faults { shared.judge.withLock { $0.faults } }

    /// Replaces the faults from the next request on, and ends a scenario.
    public func setFaults(_ faults: Faults) throws(SimulatorError) {
        try faults.validate(at: "faults", Reason.self)
        shared.judge.withLock { $0.replaceFaults(faults) }
    }

    public func reset() {
        let now = shared.now
        shared.judge.withLock { $0.reset(now: now) }
    }

    /// Whether `Faults.deadShare` makes this token dead.
    public static func isDead(token: [UInt8], share: Double, seed: UInt64) -> Bool {
        share > 0 && RandomDecision.dead(seed: seed, RandomDecision.hash(token)) < share
    }
}
