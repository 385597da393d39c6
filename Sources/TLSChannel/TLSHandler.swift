public import NIOCore
internal import NIOTLS
public import OpenSSL

/// TLS in a channel's pipeline, for a client or a server. Handlers behind it see plain bytes, and the event
/// `TLSUserEvent.handshakeCompleted` before the first of them. Writes before the handshake wait for it.
///
/// A close of the input alone ends the reading, and writes go on. Each other close ends both directions: it sends
/// close_notify and waits a moment for the peer's. The kernel sends RST when a socket closes with unread input, and RST
/// can destroy our last bytes on their way.
public final class TLSHandler: ChannelDuplexHandler {
    public typealias InboundIn = ByteBuffer
    public typealias InboundOut = ByteBuffer
    public typealias OutboundIn = IOData
    public typealias OutboundOut = IOData

    private enum Phase {
        case handshake
        case open
        /// Our close_notify is out. Bytes that still come are dropped.
        case closing
        case closed
    }

    /// The longest wait for the peer's close_notify.
    private static let closeLimit: TimeAmount = .milliseconds(200)

    private let session: TLSSession
    private var phase = Phase.handshake
    /// Writes that wait for the handshake.
    private var early: [(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)] = []
    private var closePromise: EventLoopPromise<Void>?

    public init(_ session: TLSSession) { self.session = session }

    public func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        advance(context, room: 0)
    }

    public func channelInactive(context: ChannelHandlerContext) {
        finish(ChannelError.ioOnClosedChannel)
        context.fireChannelInactive()
    }

    public func handlerRemoved(context: ChannelHandlerContext) { finish(ChannelError.ioOnClosedChannel) }

    // MARK: Inbound

    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard phase != .closed else { return }
        bytes.withUnsafeReadableBytes { session.receive($0) }
        advance(context, room: bytes.readableBytes)
    }

    /// Continues the handshake, or decrypts.
    /// - Parameter room: bytes to reserve for the result. 0: nothing was received, so nothing is read.
    private func advance(_ context: ChannelHandlerContext, room: Int) {
        do {
            if phase == .handshake {
                guard try session.handshake() else { return sendOutput(context) }
                opened(context)
            }
            try read(context, room: room)
            sendOutput(context)
        } catch {
            lose(error, context)
        }
    }

    private func opened(_ context: ChannelHandlerContext) {
        phase = .open
        sendOutput(context)
        context.fireUserInboundEventTriggered(
            TLSUserEvent.handshakeCompleted(negotiatedProtocol: session.applicationProtocol))
        guard !early.isEmpty else { return }
        for (bytes, promise) in early { write(bytes, promise, context) }
        early = []
        context.flush()
    }

    /// All complete records go into one buffer. Plain bytes are fewer than encrypted ones.
    private func read(_ context: ChannelHandlerContext, room: Int) throws {
        guard room > 0 else { return }
        var plain = context.channel.allocator.buffer(capacity: room)
        defer { if phase == .open, plain.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(plain)) } }
        while session.hasInput,
            try plain.writeWithUnsafeMutableBytes(minimumWritableBytes: 1_024, { try session.read(into: $0) }) > 0
        {}
    }

    /// Ends the connection. A close_notify is answered. After another error the peer gets OpenSSL's alert, if any.
    private func lose(_ error: any Error, _ context: ChannelHandlerContext) {
        guard phase != .closed else { return }
        var isClosedByPeer = false
        if case .lost? = error as? TLSError { isClosedByPeer = true }
        if isClosedByPeer, phase == .open { session.close() }
        sendOutput(context)
        end(context)
        if !isClosedByPeer { context.fireErrorCaught(error) }
    }

    // MARK: Outbound

    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(let bytes) = unwrapOutboundIn(data) else {
            // A file would go to the socket unencrypted. No handler here sends one.
            promise?.fail(ChannelError.operationUnsupported)
            return
        }
        if phase == .handshake { early.append((bytes, promise)) } else { write(bytes, promise, context) }
    }

    private func write(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        guard phase == .open else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        do {
            try bytes.withUnsafeReadableBytes { try session.write($0) }
            context.write(wrapOutboundOut(.byteBuffer(output(context))), promise: promise)
        } catch {
            promise?.fail(error)
            lose(error, context)
        }
    }

    private func output(_ context: ChannelHandlerContext) -> ByteBuffer {
        let count = session.outputCount
        var bytes = context.channel.allocator.buffer(capacity: count)
        bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { session.takeOutput(into: $0) }
        return bytes
    }

    /// Sends bytes that OpenSSL wrote on its own: handshake, key updates, alerts.
    private func sendOutput(_ context: ChannelHandlerContext) {
        guard session.outputCount > 0 else { return }
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(output(context))), promise: nil)
    }

    // MARK: Ends

    public func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch phase {
        case .handshake, .closed:
            phase = .closed
            context.close(mode: mode, promise: promise)
        case .closing: closePromise.setOrCascade(to: promise)
        // The answer to a body that came too slowly is still written, so this is no end of the session.
        case .open where mode == .input: context.close(mode: .input, promise: promise)
        case .open:
            phase = .closing
            closePromise.setOrCascade(to: promise)
            session.close()
            sendOutput(context)
            _ = context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeLimit) {
                if self.phase == .closing { self.end(context) }
            }
        }
    }

    private func end(_ context: ChannelHandlerContext) {
        phase = .closed
        context.close(promise: closePromise.take())
    }

    private func finish(_ error: any Error) {
        phase = .closed
        let waiting = early
        early = []
        for (_, promise) in waiting { promise?.fail(error) }
        closePromise?.succeed()
        closePromise = nil
    }
}
