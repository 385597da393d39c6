import NIOCore

/// Closes a connection whose peer does not read its responses: Hummingbird's idle time does not run while it writes.
/// The time runs while more than NIO's high-water mark (64 KiB) is unsent. It starts again after half of that was sent.
final class StalledReaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let timeout: TimeAmount
    /// Used only on the channel's event loop.
    private var closing: Scheduled<Void>?
    init(timeout: Duration) { self.timeout = TimeAmount(timeout) }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            cancel()
        } else if closing == nil {
            let channel = context.channel
            closing = context.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { cancel() }

    private func cancel() {
        closing?.cancel()
        closing = nil
    }
}
