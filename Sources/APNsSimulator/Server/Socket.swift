internal import NIOCore

/// Sits below TLS: closing from here says nothing to the client.
final class Socket: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func close() { context?.close(promise: nil) }
}
