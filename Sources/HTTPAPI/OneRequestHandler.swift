import NIOCore

/// Gives the HTTP decoder a connection's bytes in small parts, and none while a complete request waits for its answer.
///
/// The decoder reads all that it gets: a full receive buffer of small requests would be some 1,600 heads in memory, on
/// every connection of a stranger. Bytes that wait here stop the reading of the socket, so what a client sends ahead
/// stays in the kernel's buffers.
///
/// On the channel's event loop, as `RequestFormHandler`, which tells how far the requests are.
final class OneRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// Bytes that are decoded at once between bodies: at most some 60 heads.
    static let partBytes = 1_024

    private var context: ChannelHandlerContext?
    private var held = ByteBuffer()
    private var isFeeding = false
    private var isReadWanted = false
    private var isInputClosed = false
    /// Complete requests without an answer. Negative: an answer came before its request was complete.
    private var unanswered = 0
    /// Of a body whose length was announced: it can be decoded in one part.
    private var bodyLeft = 0

    // MARK: What RequestFormHandler saw

    /// - Parameter bodyBytes: as announced; 0 if there is no body or its length is not known.
    func requestBegan(bodyBytes: Int) { bodyLeft = max(0, bodyBytes) }
    func bodyArrived(_ bytes: Int) { bodyLeft = max(0, bodyLeft - bytes) }

    func requestEnded() {
        bodyLeft = 0
        unanswered += 1
    }

    func requestAnswered() {
        unanswered -= 1
        guard unanswered <= 0, held.readableBytes > 0 || isReadWanted || isInputClosed, let context else { return }
        // Not in the middle of the answer's writing.
        context.eventLoop.assumeIsolated().execute { self.resume() }
    }

    // MARK: Bytes

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        held = ByteBuffer()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
        feed(context)
    }

    func read(context: ChannelHandlerContext) {
        if held.readableBytes > 0 { isReadWanted = true } else { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The end of the input comes behind the bytes before it.
        if held.readableBytes > 0, case ChannelEvent.inputClosed? = event as? ChannelEvent {
            isInputClosed = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func resume() {
        guard let context, unanswered <= 0 else { return }
        feed(context)
        context.fireChannelReadComplete()
        guard held.readableBytes == 0 else { return }
        if isReadWanted {
            isReadWanted = false
            context.read()
        }
        if isInputClosed {
            isInputClosed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
    }

    private func feed(_ context: ChannelHandlerContext) {
        guard !isFeeding else { return }
        isFeeding = true
        defer { isFeeding = false }
        while unanswered <= 0, held.readableBytes > 0 {
            let count = min(held.readableBytes, max(Self.partBytes, bodyLeft))
            guard let part = held.readSlice(length: count) else { break }
            context.fireChannelRead(wrapInboundOut(part))
        }
        // Frees the memory behind the parts.
        if held.readableBytes == 0 { held = ByteBuffer() }
    }
}
