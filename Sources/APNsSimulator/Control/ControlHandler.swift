private import FoundationEssentials
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization

/// The control interface, in plain HTTP/1.1. `docs/features/simulator.md` lists its calls.
final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let maximumBody = 1 << 20
    /// About how many lines of `/simulator/tokens` are written at a time. The next ones follow when these were sent.
    private static let linesAtATime = 1_000

    private let shared: SimulatorState
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()

    init(shared: SimulatorState) { self.shared = shared }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = ByteBuffer()
        case .body(var part):
            if body.readableBytes + part.readableBytes <= Self.maximumBody {
                body.writeBuffer(&part)
            } else {
                head = nil
            }
        case .end:
            guard let head else {
                return fail(.payloadTooLarge, "the body is over \(Self.maximumBody) bytes", context)
            }
            answer(head, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        let path = head.uri.prefix { $0 != "?" }
        switch (head.method, path) {
        case (.GET, "/simulator/record"):
            send(.ok, JSON.encode(shared.judge.withLock { $0.record.snapshot }), context)
        case (.GET, "/simulator/tokens"):
            let withHistory = head.uri.hasSuffix("?history=1")
            let recorder = shared.judge.withLock { $0.record }
            stream(recorder.tokens.tables, context) { token, record in
                let report = recorder.report(token, record)
                return withHistory ? report.detailedJSON : report.json + [UInt8(ascii: "\n")]
            }
        case (.GET, "/simulator/newest"): send(.ok, shared.judge.withLock { $0.newest }.json, context)
        case (.GET, "/simulator/faults"): send(.ok, JSON.encode(shared.judge.withLock { $0.faults }), context)
        case (.POST, "/simulator/faults"):
            replaceFaults(Reason.self, context) { faults in shared.judge.withLock { $0.replaceFaults(faults) } }
        case (.POST, "/simulator/reset"):
            let now = shared.now
            shared.judge.withLock { $0.reset(now: now) }
            shared.fcm?.judge.withLock { $0.reset() }
            send(.ok, Array(#"{"ok":true}"#.utf8), context)
        case (.GET, _) where path.hasPrefix("/simulator/tokens/"):
            if let report = shared.report(String(path.dropFirst("/simulator/tokens/".count))) {
                send(.ok, report.detailedJSON, context)
            } else {
                fail(.notFound, "nothing came for this token", context)
            }
        case (.GET, "/simulator/channels"):
            send(.ok, shared.judge.withLock { $0.channelReports }.flatMap { $0.json + [UInt8(ascii: "\n")] }, context)
        case (_, _) where path.hasPrefix("/simulator/channels/"):
            let decoded = URLComponents(string: String(path))?.path ?? ""
            answerChannel(head.method, String(decoded.dropFirst("/simulator/channels/".count)), context)
        case (_, _) where path.hasPrefix("/simulator/fcm/") && shared.fcm != nil:
            if let fcm = shared.fcm { answerFCM(head, path.dropFirst("/simulator/fcm/".count), fcm, context) }
        default:
            fail(
                .notFound,
                "no such call; see /simulator/record, /simulator/tokens, /simulator/channels, /simulator/faults",
                context)
        }
    }

    private func answerChannel(_ method: HTTPMethod, _ id: String, _ context: ChannelHandlerContext) {
        let now = shared.now
        switch method {
        case .GET:
            guard let report = shared.judge.withLock({ $0.channelReport(id) }) else { break }
            return send(.ok, report.detailedJSON, context)
        case .DELETE:
            guard shared.judge.withLock({ $0.channels.delete(id, now: now) }) else { break }
            return send(.ok, Array(#"{"ok":true}"#.utf8), context)
        default: return fail(.methodNotAllowed, "GET or DELETE", context)
        }
        fail(.notFound, "no such channel", context)
    }

    private func fail(_ status: HTTPResponseStatus, _ text: String, _ context: ChannelHandlerContext) {
        send(status, JSON.encode(["error": text]), context)
    }

    private func send(_ status: HTTPResponseStatus, _ body: [UInt8], _ context: ChannelHandlerContext) {
        let body = body.last == UInt8(ascii: "\n") ? body : body + [UInt8(ascii: "\n")]
        let headers: HTTPHeaders = ["content-type": "application/json", "content-length": "\(body.count)"]
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Sends one line for each record of the tables.
    private func stream<Record>(
        _ tables: [[[UInt8]: Record]], _ context: ChannelHandlerContext, _ line: @escaping ([UInt8], Record) -> [UInt8]
    ) {
        let headers: HTTPHeaders = ["content-type": "application/x-ndjson", "transfer-encoding": "chunked"]
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers))), promise: nil)
        write(tables, from: 0, context, line)
    }

    private func write<Record>(
        _ tables: [[[UInt8]: Record]], from first: Int, _ context: ChannelHandlerContext,
        _ line: @escaping ([UInt8], Record) -> [UInt8]
    ) {
        var lines = context.channel.allocator.buffer(capacity: Self.linesAtATime * 512)
        var count = 0
        var index = first
        while index < tables.count, count < Self.linesAtATime || tables[index].isEmpty {
            for (key, record) in tables[index] { lines.writeBytes(line(key, record)) }
            count += tables[index].count
            index += 1
        }
        let next = index
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(lines))), promise: written)
        written.futureResult.assumeIsolated().whenSuccess {
            if next == tables.endIndex {
                context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
            } else {
                self.write(tables, from: next, context, line)
            }
        }
    }

    private func replaceFaults(
        _ table: (some ReasonTable).Type, _ context: ChannelHandlerContext, _ replace: (Faults) -> Void
    ) {
        do throws(SimulatorError) {
            let faults = try Faults.parse(Array(body.readableBytesView), source: "faults", table)
            replace(faults)
            shared.logger.info("simulator faults replaced")
            send(.ok, JSON.encode(faults), context)
        } catch {
            fail(.badRequest, "\(error)", context)
        }
    }

    /// - Parameter path: behind `/simulator/fcm/`
    private func answerFCM(
        _ head: HTTPRequestHead, _ path: Substring, _ fcm: FCMState, _ context: ChannelHandlerContext
    ) {
        switch (head.method, path) {
        case (.GET, "record"): send(.ok, JSON.encode(fcm.judge.withLock { $0.record.totals }), context)
        case (.GET, "newest"): send(.ok, fcm.judge.withLock { $0.newest }.json, context)
        case (.GET, "faults"): send(.ok, JSON.encode(fcm.judge.withLock { $0.faults }), context)
        case (.POST, "faults"):
            replaceFaults(FCMReason.self, context) { faults in fcm.judge.withLock { $0.faults = faults } }
        case (.GET, "tokens"):
            let withHistory = head.uri.hasSuffix("?history=1")
            let recorder = fcm.judge.withLock { $0.record }
            stream(recorder.addresses.tables, context) { address, record in
                let report = recorder.report(address, record)
                return withHistory ? report.detailedJSON : report.json + [UInt8(ascii: "\n")]
            }
        case (.GET, _) where path.hasPrefix("tokens/"):
            let address = URLComponents(string: "/" + path)?.path.dropFirst("/tokens/".count) ?? ""
            guard let report = fcm.judge.withLock({ $0.record.report(String(address)) }) else {
                return fail(.notFound, "nothing came for this address", context)
            }
            send(.ok, report.detailedJSON, context)
        default:
            fail(
                .notFound, "no such call; see /simulator/fcm/record, /simulator/fcm/tokens, /simulator/fcm/faults",
                context)
        }
    }
}
