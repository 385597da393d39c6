import NIOCore

/// Closes a connection whose peer does not take its answers. Hummingbird's idle time does not run while an answer is being
/// written, so a peer that sends requests and reads nothing would keep its connection for ever.
///
/// The time runs while more than NIO's high-water mark (64 KiB) waits to be taken, and starts anew when half of it is.
final class StalledReaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let timeout: TimeAmount
    /// On the channel's event loop.
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
