import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import OpenSSL
import Synchronization
import TLSChannel

/// One connection: Hummingbird's HTTP/1.1 with our own handlers and limits.
struct GatewayChannel: ServerChildChannel {
    /// An accepted connection. When the server stops, it drops connections that wait for their tasks. NIO ends the
    /// process if nobody finishes the writer of such a connection.
    final class Value: ServerChildChannelValue {
        private let http: HTTP1Channel.Value
        private let isTaken = Atomic(false)
        var channel: any Channel { http.channel }

        init(_ http: HTTP1Channel.Value) { self.http = http }

        deinit {
            if isTaken.load(ordering: .relaxed) { return }
            let http = http
            Task { try? await http.executeThenClose { _, _ in } }
        }

        /// The caller closes the connection.
        func take() -> HTTP1Channel.Value {
            isTaken.store(true, ordering: .relaxed)
            return http
        }
    }

    /// The most bytes of one read from the socket.
    private static let receiveBuffer = 16 << 10
    let http: HTTP1Channel
    let addresses: AddressLimit
    let headTimeout: Duration
    /// Runs the tasks of a connection on its event loop. Nil: they run where all tasks do.
    let tasks: EventLoopTasks.Group?
    let turns: LoopTurns?
    /// The certificate for new connections. Nil: they speak plain HTTP.
    let identity: @Sendable () -> TLSIdentity?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let decoder = http.configuration.httpDecoder
        return http.setup(channel: channel, logger: logger).map(Value.init).flatMapThrowing { value in
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = decoder.maxHeaderFieldSize
            limits.maxHeaderListSize = decoder.maxHeaderListSize
            limits.maxHeaderFieldCount = decoder.maxHeaderFieldCount
            try RequestFormHandler.install(in: channel, limits: limits, headTimeout: headTimeout, turns: turns)
            if let options = channel.syncOptions {
                try options.setOption(
                    .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.receiveBuffer))
                try options.setOption(.maxMessagesPerRead, value: 1)
            }
            // The handlers behind it see plain bytes, so their limits also count for the handshake.
            if let identity = identity() {
                try channel.pipeline.syncOperations.addHandler(
                    TLSHandler(try TLSSession(identity)), position: .first)
            }
            return value
        }
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(tasks?[value.channel.eventLoop]) { await answer(value, logger) }
    }

    private func answer(_ value: Value, _ logger: Logger) async {
        // A unix socket has no address.
        guard let address = value.channel.remoteAddress?.ipAddress.map(AddressLimit.network) else {
            return await http.handle(value: value.take(), logger: logger)
        }
        guard addresses.take(address) else {
            addresses.logRefusal(of: address, to: logger)
            try? await value.take().executeThenClose { _, _ in }
            return
        }
        defer { addresses.giveBack(address) }
        await http.handle(value: value.take(), logger: logger)
    }
}

extension HTTPServerBuilder {
    static func http1(
        addresses: AddressLimit, headTimeout: Duration = .seconds(30),
        tasks: EventLoopTasks.Group? = nil, turns: LoopTurns? = nil,
        identity: @escaping @Sendable () -> TLSIdentity? = { nil }, configuration: HTTP1Channel.Configuration
    ) -> HTTPServerBuilder {
        HTTPServerBuilder { responder in
            GatewayChannel(
                http: HTTP1Channel(responder: responder, configuration: configuration), addresses: addresses,
                headTimeout: headTimeout, tasks: tasks, turns: turns,
                identity: identity)
        }
    }
}
