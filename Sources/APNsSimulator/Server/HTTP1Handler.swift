internal import NIOCore
internal import NIOHTTP1

/// Serves a client that did not offer h2 in ALPN. Faults of answers happen here too, but latency and faults of
/// connections do not.
final class HTTP1Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let service: any ConnectionService
    private let now: () -> Int
    private var fields: [(name: String, value: String)] = []
    private var body = ByteBuffer()
    /// Requests that get no answer.
    private var stalled = 0

    init(service: any ConnectionService, now: @escaping () -> Int) { (self.service, self.now) = (service, now) }

    func channelInactive(context: ChannelHandlerContext) { service.disconnect(lost: stalled) }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is ServerLeaves || event is IdleStateHandler.IdleStateEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            // The service sees the form that a request has in HTTP/2.
            let ofConnection = ["connection", "transfer-encoding", "upgrade", "keep-alive", "proxy-connection"]
            fields = [(":method", head.method.rawValue), (":scheme", "https"), (":path", head.uri)]
            fields += head.headers.map { ($0.name.lowercased(), $0.value) }.filter { !ofConnection.contains($0.0) }
            body = ByteBuffer()
        case .body(var part):
            if body.readableBytes < service.keptBody { body.writeBuffer(&part) }
        case .end: answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        let head = RequestHead(fields)
        let stream = HTTP2Session.Stream(head: head, body: body, receiveWindow: 0, sendWindow: 0)
        let arrivedAt = now()
        let orders = service.arrive(stream, inFlight: 1)
        switch service.answer(stream, orders, arrivedAt: arrivedAt).end {
        case .response(let status, _, _, let fields, let body):
            var headers = HTTPHeaders(fields.map { ($0.name, $0.value) })
            headers.add(name: "content-length", value: "\(body.count)")
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .reset: context.close(promise: nil)
        case .stalled: stalled += 1
        }
    }
}
