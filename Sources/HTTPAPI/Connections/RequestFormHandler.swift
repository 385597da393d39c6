import NIOCore
import NIOHTTP1

/// On the channel's event loop, brings requests into one form, because software reads some forms differently.
/// - A connection that is to be closed gets `Connection: close` in this spelling.
/// - CONNECT, a transfer coding other than chunked, and a request without exactly one Host close their connection. The
///   handlers see a request with a wrong Host as one without.
/// - An offer to upgrade is ignored and the connection goes on. Java's HttpClient and `curl --http2` send one with
///   their first request. NIO's decoder stops for ever after such a request, so a new decoder replaces it.
/// - While the gateway stops, answers say `Connection: close`. An idle connection gets a second more, because a request
///   may be on its way: clients do not repeat a POST by themselves when the connection breaks.
final class RequestFormHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart
    typealias Decoder = ByteToMessageHandler<HTTPRequestDecoder>

    private let pace: OneRequestHandler
    private let limits: NIOHTTPDecoderLimitConfiguration
    private var decoder: Decoder
    private var offersUpgrade = false
    /// How long a connection may stay idle while the gateway stops.
    private static let farewell: TimeAmount = .seconds(1)
    private var isStopping = false
    /// The end of an idle connection while the gateway stops.
    private var ending: Scheduled<Void>?
    /// Requests whose answers are not complete.
    private var open = 0
    /// Ends an answer without an end when its client sends and reads no more.
    private var endOfStream: (@Sendable () -> Void)?
    private var isInputClosed = false

    private init(pace: OneRequestHandler, limits: NIOHTTPDecoderLimitConfiguration, decoder: Decoder) {
        self.pace = pace
        self.limits = limits
        self.decoder = decoder
    }

    /// Puts both handlers into the pipeline of an unread channel, and a decoder that passes on its unread bytes.
    static func install(
        in channel: any Channel, limits: NIOHTTPDecoderLimitConfiguration, headTimeout: Duration = .seconds(30),
        turns: LoopTurns? = nil
    ) throws {
        let pipeline = channel.pipeline.syncOperations
        let first = try pipeline.handler(type: Decoder.self)
        let pace = OneRequestHandler(headTimeout: headTimeout, turns: turns)
        let decoder = makeDecoder(limits)
        try pipeline.addHandler(pace, position: .first)
        try pipeline.addHandler(decoder, position: .after(first))
        try pipeline.addHandler(
            RequestFormHandler(pace: pace, limits: limits, decoder: decoder), position: .after(decoder))
        pipeline.removeHandler(first, promise: nil)
    }

    private static func makeDecoder(_ limits: NIOHTTPDecoderLimitConfiguration) -> Decoder {
        Decoder(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            offersUpgrade = head.method != .CONNECT && head.offersUpgrade
            pace.requestBegan(bodyBytes: head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0)
            head.normalize()
            open += 1
            context.fireChannelRead(wrapInboundOut(.head(head)))
            if ending != nil { quiesce(context) }
        case .body(let bytes):
            pace.bodyArrived(bytes.readableBytes)
            context.fireChannelRead(data)
        case .end:
            pace.requestEnded()
            context.fireChannelRead(data)
            if offersUpgrade { replaceDecoder(context) }
        }
    }

    /// Calls `end` once the client has closed the connection, or its side of it. A browser closes both at once, and the
    /// kernel tells only of its side until something is written.
    static func whenGone(_ channel: any Channel, _ end: @escaping @Sendable () -> Void) {
        channel.eventLoop.execute {
            // A connection that is closed has no handlers.
            guard let handler = try? channel.pipeline.syncOperations.handler(type: RequestFormHandler.self),
                !handler.isInputClosed
            else { return end() }
            handler.endOfStream = end
        }
    }

    /// Tells a client that waits for it to send the body. Before a large body curl would wait a second for it.
    static func proceed(_ channel: any Channel) {
        channel.eventLoop.execute {
            let context = try? channel.pipeline.syncOperations.context(handlerType: RequestFormHandler.self)
            context?.writeAndFlush(
                NIOAny(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .continue))),
                promise: nil)
        }
    }

    private func clientHasGone() {
        isInputClosed = true
        endOfStream?()
        endOfStream = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        clientHasGone()
        context.fireChannelInactive()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where isStopping && head.status.code >= 200:
            head.headers.replaceOrAdd(name: "connection", value: "close")
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            context.write(data, promise: promise)
            open -= 1
            endOfStream = nil
            pace.requestAnswered()
        default: context.write(data, promise: promise)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { clientHasGone() }
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        isStopping = true
        if open > 0 { return context.fireUserInboundEventTriggered(event) }
        ending = context.eventLoop.assumeIsolated().scheduleTask(in: Self.farewell) { self.quiesce(context) }
    }

    /// Lets Hummingbird close the connection: at once if it is idle, else after the answer.
    private func quiesce(_ context: ChannelHandlerContext) {
        ending?.cancel()
        ending = nil
        context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        ending?.cancel()
        ending = nil
    }

    /// Replaces the decoder. When the old one leaves the pipeline, a moment later, the new one gets its unread bytes.
    private func replaceDecoder(_ context: ChannelHandlerContext) {
        offersUpgrade = false
        let old = decoder
        decoder = Self.makeDecoder(limits)
        let pipeline = context.pipeline.syncOperations
        guard (try? pipeline.addHandler(decoder, position: .after(old))) != nil else {
            return context.close(promise: nil)
        }
        pipeline.removeHandler(old).assumeIsolated().whenComplete { _ in context.fireChannelReadComplete() }
    }
}

extension HTTPRequestHead {
    /// Whether NIO's parser will see an offer to upgrade.
    fileprivate var offersUpgrade: Bool {
        headers.contains(name: "upgrade")
            && headers[canonicalForm: "connection"].contains { $0.lowercased() == "upgrade" }
    }

    private static let probes: Set = ["/healthz", "/readyz", "/metrics"]

    fileprivate mutating func normalize() {
        let hosts = headers["host"]
        var closes = method == .CONNECT || headers[canonicalForm: "connection"].contains { $0.lowercased() == "close" }
        if version.minor == 0 {
            closes = closes || !headers[canonicalForm: "connection"].contains { $0.lowercased() == "keep-alive" }
            // HTTP/1.0 has no Host, no 100 Continue and no chunks.
            if hosts.isEmpty { headers.add(name: "host", value: "localhost") }
            headers.remove(name: "expect")
            if headers.contains(name: "transfer-encoding") {
                headers.replaceOrAdd(name: "transfer-encoding", value: "chunked in HTTP/1.0")
            }
        }
        if hosts == [""], Self.probes.contains(uri) {
            // Some balancers send it so. These paths are the same for every host.
            headers.replaceOrAdd(name: "host", value: "localhost")
        } else if hosts.count > 1 || hosts.first?.isEmpty == true || hosts.isEmpty && version.minor > 0 {
            headers.remove(name: "host")
            closes = true
        }
        // Close: the request will be refused and its body is not read, so the end of the body is unknown.
        let codings = headers["transfer-encoding"]
        if !codings.isEmpty, codings.count > 1 || codings[0].lowercased() != "chunked" { closes = true }
        if closes { headers.replaceOrAdd(name: "connection", value: "close") }
    }
}
