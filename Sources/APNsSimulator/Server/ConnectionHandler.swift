internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOTLS
internal import Synchronization
internal import TLSChannel

/// To every connection: the server goes.
struct ServerLeaves {}

/// One connection on its event loop, from the end of the TLS handshake until it closes. It moves bytes and time.
/// `HTTP2Session` decides about frames, and the service about requests. Answers of one read leave in one write.
final class ConnectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase {
        case handshake
        case open
        /// Our GOAWAY is out: closes when nothing is in flight any more.
        case draining
        /// Reads and writes nothing for as long as the client holds out.
        case frozen
        /// Reads only to let the client have our last bytes before the end.
        case lingering
        case closed
    }

    /// How long a client has to take our last bytes before the connection closes, milliseconds. Closing with unread
    /// input makes the kernel send RST, which can destroy a GOAWAY on its way.
    private static let graceAfterDrain: Int64 = 1_000
    private static let graceAfterAbruptEnd: Int64 = 50
    private static let graceAfterLeaving: Int64 = 200

    private let service: any ConnectionService
    private let shared: SimulatorState
    private var session: HTTP2Session
    /// The highest stream whose request was checked.
    private var lastProcessed: UInt32 = 0
    private var phase = Phase.handshake
    private var isLeaving = false
    private var flushIsScheduled = false

    init(service: any ConnectionService, shared: SimulatorState) {
        self.service = service
        self.shared = shared
        session = HTTP2Session(initialStreams: service.initialStreams, keptBody: service.keptBody)
    }

    func channelActive(context: ChannelHandlerContext) {
        service.connect(port: UInt16(clamping: context.channel.remoteAddress?.port ?? 0))
    }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .closed
        service.disconnect(lost: session.dropStreams())
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ServerLeaves { return leave(context) }
        if event is IdleStateHandler.IdleStateEvent {
            if phase == .open, session.streams.isEmpty { context.close(promise: nil) }
            return
        }
        guard case .handshakeCompleted(let protocolName)? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        if protocolName != "h2", service.speaksHTTP1 { return speakHTTP1(context) }
        guard protocolName == "h2" else {
            shared.logger.debug("connection closed: the client did not offer h2 in ALPN")
            return context.close(promise: nil)
        }
        phase = .open
        switch service.greet() {
        case nil: flush(context)
        case .freeze?: freeze(context)
        case .close?: cut(context)
        case .goaway(_, let reason)?:
            goaway(lastStream: 0, .noError, reason: reason, context)
            flush(context)
            closeIfDrained(context)
        }
    }

    private func speakHTTP1(_ context: ChannelHandlerContext) {
        let pipeline = context.pipeline.syncOperations
        do {
            try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: true)
            try pipeline.addHandler(HTTP1Handler(service: service) { [shared] in shared.now })
            pipeline.removeHandler(context: context, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }

    private func leave(_ context: ChannelHandlerContext) {
        isLeaving = true
        switch phase {
        case .handshake: context.close(promise: nil)
        case .open:
            goaway(lastStream: session.lastStream, .noError, reason: "Shutdown", context)
            flush(context)
            closeIfDrained(context)
        case .draining, .frozen, .lingering, .closed: break
        }
    }

    private func freeze(_ context: ChannelHandlerContext) {
        phase = .frozen
        context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase == .open || phase == .draining else { return }
        session.append(unwrapInboundIn(data))
        do {
            while phase == .open || phase == .draining, let event = try session.next() { handle(event, context) }
        } catch {
            shared.logger.debug("connection closed: the client broke HTTP/2", metadata: ["code": "\(error)"])
            goaway(lastStream: session.lastStream, error, reason: "ProtocolError", context)
            end(context, after: Self.graceAfterAbruptEnd)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) { flush(context) }

    /// A client that does not read what it asked for is not read either.
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if phase != .frozen {
            context.channel.setOption(.autoRead, value: context.channel.isWritable).whenFailure { _ in }
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        shared.logger.debug("connection error", metadata: ["error": "\(error)"])
        context.close(promise: nil)
    }

    // MARK: Events

    private func handle(_ event: HTTP2Session.Event, _ context: ChannelHandlerContext) {
        switch event {
        case .request(let id): arrived(id, context)
        case .cancelled:
            service.note(.cancelled)
            closeIfDrained(context)
        case .unprocessed: service.note(.unprocessed)
        case .excess(let id):
            service.note(.excess)
            let (reaction, code, reason) = service.excess
            switch reaction {
            case .refuse:
                session.forget(id)
                session.reset(id, .refusedStream)
            case .goaway:
                goaway(lastStream: session.lastStream, code, reason: reason, context)
                closeIfDrained(context)
            }
        case .leaving:
            phase = .draining
            closeIfDrained(context)
        }
    }

    private func arrived(_ id: UInt32, _ context: ChannelHandlerContext) {
        guard let stream = session.streams[id] else { return }
        let now = shared.now
        let orders = service.arrive(stream, inFlight: session.streams.count)
        if let streams = orders.streams { session.announce(streams: streams) }
        switch orders.connection {
        case .close?:
            // Earlier requests of the same read have their answers.
            flush(context)
            abandon(session.dropStreams())
            return cut(context)
        case .freeze?:
            flush(context)
            return freeze(context)
        case .goaway(.abrupt, let reason)?:
            goaway(lastStream: lastProcessed, .noError, reason: reason, context)
            return end(context, after: Self.graceAfterAbruptEnd)
        case .goaway(.graceful, let reason)?:
            if phase == .open { goaway(lastStream: session.lastStream, .noError, reason: reason, context) }
        case nil: break
        }
        guard orders.latency > 0 else { return process(id, stream, orders, arrivedAt: now, context) }
        let due = TimeAmount.nanoseconds(Int64(orders.latency * 1e6))
        _ = context.eventLoop.assumeIsolated().scheduleTask(in: due) {
            guard self.phase == .open || self.phase == .draining, let stream = self.session.streams[id] else { return }
            self.process(id, stream, orders, arrivedAt: now, context)
            self.flushSoon(context)
        }
    }

    private func process(
        _ id: UInt32, _ stream: HTTP2Session.Stream, _ orders: Orders, arrivedAt: Int, _ context: ChannelHandlerContext
    ) {
        lastProcessed = max(lastProcessed, id)
        let answer = service.answer(stream, orders, arrivedAt: arrivedAt)
        for streams in answer.announced { session.announce(streams: streams) }
        switch answer.end {
        case .response(let status, let messageID, let idName, let fields, let body):
            session.answer(id, status: status, messageID: messageID, idName: idName, fields: fields, body: body)
        case .reset(let code): session.reset(id, code.wire)
        case .stalled: return
        }
        closeIfDrained(context)
    }

    // MARK: Ends

    private func goaway(lastStream: UInt32, _ code: HTTP2ErrorCode, reason: String, _ context: ChannelHandlerContext) {
        let dropped = session.goaway(lastStream: lastStream, code, text: service.goawayText(reason))
        phase = .draining
        abandon(dropped)
        service.note(.goaway)
    }

    private func abandon(_ count: Int) {
        if count > 0 { service.note(.abandoned(count)) }
    }

    private func closeIfDrained(_ context: ChannelHandlerContext) {
        guard phase == .draining, session.streams.isEmpty else { return }
        end(context, after: isLeaving ? Self.graceAfterLeaving : Self.graceAfterDrain)
    }

    /// Closes below TLS, which says nothing to the client.
    private func cut(_ context: ChannelHandlerContext) {
        phase = .closed
        try? context.pipeline.syncOperations.context(handlerType: TLSHandler.self).close(promise: nil)
    }

    private func end(_ context: ChannelHandlerContext, after milliseconds: Int64) {
        guard phase == .open || phase == .draining else { return }
        flush(context)
        phase = .lingering
        _ = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(milliseconds)) {
            if self.phase == .lingering { context.close(promise: nil) }
        }
    }

    private func flush(_ context: ChannelHandlerContext) {
        guard phase == .open || phase == .draining, let output = session.takeOutput() else { return }
        context.writeAndFlush(wrapOutboundOut(output), promise: nil)
    }

    /// Answers whose time comes in the same turn of the loop leave together.
    private func flushSoon(_ context: ChannelHandlerContext) {
        guard !flushIsScheduled else { return }
        flushIsScheduled = true
        context.eventLoop.assumeIsolated().execute {
            self.flushIsScheduled = false
            self.flush(context)
        }
    }
}

extension ResetCode {
    var wire: HTTP2ErrorCode {
        switch self {
        case .internalError: .internalError
        case .refusedStream: .refusedStream
        case .cancel: .cancel
        case .enhanceYourCalm: .enhanceYourCalm
        }
    }
}
