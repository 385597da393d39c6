import NIOCore

/// Gives the HTTP decoder a connection's bytes in small parts, and none while a complete request waits for its answer.
/// The decoder would turn a full receive buffer of small requests into some 1,600 heads in memory, on every connection
/// of a stranger. While bytes wait here, the socket is not read, so requests sent ahead stay in the kernel's buffers.
/// Each of them waits for its turn (`LoopTurns`), so that the event loop looks at its other sockets too.
/// Runs on the channel's event loop, like `RequestFormHandler`, which reports the progress of requests to it.
final class OneRequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The most bytes that are decoded at once outside of bodies. A part ends with a head, if it holds the end of one.
    static let partBytes = 1_024
    /// How soon a request asks again for its turn.
    private static let pause: TimeAmount = .milliseconds(1)
    private var context: ChannelHandlerContext?
    private var held = ByteBuffer()
    private var isFeeding = false
    private var isReadWanted = false
    private var isInputClosed = false
    /// A task that begins the held request is on its way. Until then nothing overtakes the request.
    private var isResuming = false
    /// Complete requests without a response. Negative if a response came before its request was complete.
    private var unanswered = 0
    /// A head that takes longer than this closes its connection. A byte now and then would keep it open for ever.
    private let headTimeout: TimeAmount
    /// Runs from the first byte of a head to its end.
    private var headDeadline: Scheduled<Void>?
    private var isInRequest = false
    /// Bytes left of a body whose length was announced. They can be decoded in one part.
    private var bodyLeft = 0

    /// Limits how many requests that were sent ahead begin in one turn of the loop. Nil: there is no limit.
    private let turns: LoopTurns?

    init(headTimeout: Duration, turns: LoopTurns?) {
        self.headTimeout = TimeAmount(headTimeout)
        self.turns = turns
    }

    /// - Parameter bodyBytes: the announced length. 0 if there is no body or its length is unknown.
    func requestBegan(bodyBytes: Int) {
        isInRequest = true
        headDeadline?.cancel()
        headDeadline = nil
        bodyLeft = max(0, bodyBytes)
    }
    func bodyArrived(_ bytes: Int) { bodyLeft = max(0, bodyLeft - bytes) }

    func requestEnded() {
        isInRequest = false
        bodyLeft = 0
        unanswered += 1
    }

    func requestAnswered() {
        unanswered -= 1
        guard unanswered <= 0, !isResuming, held.readableBytes > 0 || isReadWanted || isInputClosed, let context
        else { return }
        isResuming = true
        // Wait until the current write of the response has returned.
        context.eventLoop.assumeIsolated().execute { self.resume() }
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        held = ByteBuffer()
        headDeadline?.cancel()
        headDeadline = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
        if !isResuming { feed(context) }
    }

    func read(context: ChannelHandlerContext) {
        if held.readableBytes > 0 { isReadWanted = true } else { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // Report the end of the input only after the bytes before it.
        if held.readableBytes > 0, case ChannelEvent.inputClosed? = event as? ChannelEvent {
            isInputClosed = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func resume() {
        guard let context else { return }
        if held.readableBytes > 0, turns?.begin(on: context.eventLoop) == false {
            context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.resume() }
            return
        }
        isResuming = false
        guard unanswered <= 0 else { return }
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

    /// The bytes to decode next: what is left of a body, or a head and nothing behind it.
    private func nextPart() -> Int {
        if bodyLeft > 0 { return min(held.readableBytes, bodyLeft) }
        return held.withUnsafeReadableBytes { bytes in
            let most = min(bytes.count, Self.partBytes)
            let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
            for end in stride(from: 4, through: most, by: 1)
            where bytes[end - 1] == lf && bytes[end - 2] == cr && bytes[end - 3] == lf && bytes[end - 4] == cr {
                return end
            }
            return most
        }
    }

    private func limitHead(_ context: ChannelHandlerContext) {
        headDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: headTimeout) { context.close(promise: nil) }
    }

    private func feed(_ context: ChannelHandlerContext) {
        guard !isFeeding else { return }
        isFeeding = true
        defer { isFeeding = false }
        while unanswered <= 0, held.readableBytes > 0 {
            guard let part = held.readSlice(length: nextPart()) else { break }
            // Before the decoder has the part, because the part may hold the end of the head.
            if !isInRequest, headDeadline == nil { limitHead(context) }
            context.fireChannelRead(wrapInboundOut(part))
        }
        // Frees the memory of the parts.
        if held.readableBytes == 0 { held = ByteBuffer() }
    }
}
