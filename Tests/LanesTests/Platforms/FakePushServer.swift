import Foundation
import NIOCore
import NIOPosix
import OpenSSL
import Synchronization
import TLSChannel
import TestSupport

@testable import APNsSimulator

/// The server of `FakePush`, which speaks HTTP/2 with the session of APNs's simulator.
struct FakePushServer: Sendable {
    let judge: FakePushJudge
    let origin: String
    private let authority: TestAuthority
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel

    var caFile: String { authority.caFile }

    static func start(streams: Int = 100, _ faults: PlatformFaults = PlatformFaults()) async throws -> FakePushServer {
        let authority = try TestAuthority()
        let identity = try authority.issue("fake", host: ["127.0.0.1"], commonName: "fake")
        let tls = try TLSIdentity(identity.pem, applicationProtocol: "h2")
        let judge = FakePushJudge(faults)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(try TLSSession(tls)), FakePushConnection(judge, streams: streams),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return FakePushServer(
            judge: judge, origin: "https://127.0.0.1:\(listener.localAddress?.port ?? 0)", authority: authority,
            group: group, listener: listener)
    }

    func stop() async {
        try? await listener.close()
        try? await group.shutdownGracefully()
    }
}

/// Decides about the requests of all connections, and counts them.
final class FakePushJudge: Sendable {
    struct Request: Sendable, Hashable {
        var path: String
        var authorization: String
        var body: String
    }

    struct Answer: Sendable {
        var status: Int
        var fields: [(name: String, value: String)] = []
        var body: String
    }

    private struct State {
        var faults: PlatformFaults
        var record = PlatformRecord()
        var inFlight = 0
        /// The number of the oldest access token that has not expired.
        var oldestToken = 1
        var taken: Set<String> = []
        var newest: Request?
        /// The text of `Retry-After`, in place of the number in the faults.
        var retryAfter: String?
    }

    private let state: Mutex<State>

    init(_ faults: PlatformFaults) { state = Mutex(State(faults: faults)) }

    var record: PlatformRecord { state.withLock { $0.record } }
    var newest: Request? { state.withLock { $0.newest } }
    var faults: PlatformFaults { state.withLock { $0.faults } }

    func set(_ faults: PlatformFaults, retryAfter: String? = nil) {
        state.withLock { state in
            state.faults = faults
            state.retryAfter = retryAfter
            if faults.expiresCredential { state.oldestToken += 1 }
        }
    }

    func sentGoaway() { state.withLock { $0.record.goaways += 1 } }
    func lost(_ requests: Int) { state.withLock { $0.inFlight -= requests } }

    /// - Returns: the answer and how many milliseconds later it goes out; nil: there never is one
    func judge(_ request: Request) -> (answer: Answer, delay: Int)? {
        state.withLock { state in
            state.record.requests += 1
            state.inFlight += 1
            state.record.maximumInFlight = max(state.record.maximumInFlight, state.inFlight)
            state.newest = request
            let number = Self.number(request)
            if let number, state.faults.silent.contains(number) { return nil }
            let isSlow = number.map { state.faults.slow.contains($0) } ?? false
            let answer = answer(to: request, number, &state)
            return (answer, state.faults.latency + (isSlow ? PlatformFaults.slowMilliseconds : 0))
        }
    }

    func answered() { state.withLock { $0.inFlight -= 1 } }

    private func answer(to request: Request, _ number: Int?, _ state: inout State) -> Answer {
        let token = request.authorization.split(separator: "-").last.flatMap { Int($0) } ?? 0
        if token < state.oldestToken {
            state.record.refusedCredentials += 1
            return error(401, "UNAUTHENTICATED")
        }
        guard request.path == FakePush.path, let number else { return error(400, "INVALID_ARGUMENT") }
        switch state.faults.refusal {
        case .tooMany: return error(429, "RESOURCE_EXHAUSTED", state)
        case .unavailable: return error(503, "UNAVAILABLE", state)
        case .credential: return error(403, "PERMISSION_DENIED")
        case .push: return error(400, "INVALID_ARGUMENT")
        case nil: break
        }
        if state.faults.dead.contains(number) { return error(404, "UNREGISTERED") }
        state.record.accepted += 1
        if !state.taken.insert(request.body).inserted { state.record.duplicates += 1 }
        return Answer(status: 200, body: #"{"name":"messages/\#(state.record.accepted)"}"#)
    }

    private func error(_ status: Int, _ reason: String, _ state: State? = nil) -> Answer {
        let retryAfter = state.flatMap { $0.retryAfter ?? $0.faults.retryAfter.map { "\($0)" } }
        return Answer(
            status: status, fields: retryAfter.map { [("retry-after", $0)] } ?? [],
            body: #"{"error":{"code":\#(status),"status":"\#(reason)"}}"#)
    }

    /// The number in the address of a body that is whole.
    private static func number(_ request: Request) -> Int? {
        guard let body = try? JSONSerialization.jsonObject(with: Data(request.body.utf8)) as? [String: Any],
            let message = body["message"] as? [String: Any], message["data"] is [String: Any],
            let address = message["token"] as? String, address.utf8.count >= 200
        else { return nil }
        return address.split(separator: ":").first.flatMap { Int($0.dropFirst("fake-".count)) }
    }
}

/// One connection, on its event loop.
private final class FakePushConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let judge: FakePushJudge
    private let streams: Int
    private var session = HTTP2Session(initialStreams: 1)
    private var requests = 0
    private var isLeaving = false

    init(_ judge: FakePushJudge, streams: Int) { (self.judge, self.streams) = (judge, streams) }

    func channelActive(context: ChannelHandlerContext) { flush(context) }
    func channelInactive(context: ChannelHandlerContext) { judge.lost(session.dropStreams()) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        session.append(unwrapInboundIn(data))
        do {
            while let event = try session.next() { handle(event, context) }
        } catch {
            context.close(promise: nil)
        }
        flush(context)
    }

    private func handle(_ event: HTTP2Session.Event, _ context: ChannelHandlerContext) {
        switch event {
        case .request(let id): arrived(id, context)
        case .cancelled: judge.lost(1)
        case .excess(let id):
            session.forget(id)
            session.reset(id, .refusedStream)
        case .unprocessed: break
        case .leaving: isLeaving = true
        }
    }

    private func arrived(_ id: UInt32, _ context: ChannelHandlerContext) {
        guard let stream = session.streams[id] else { return }
        requests += 1
        let request = FakePushJudge.Request(
            path: stream.head.path, authorization: stream.head.authorization ?? "",
            body: String(buffer: stream.body))
        let judged = judge.judge(request)
        if requests == judge.faults.goawayAfter {
            _ = session.goaway(lastStream: session.lastStream, .noError, text: "leaving")
            judge.sentGoaway()
            isLeaving = true
        }
        guard let (answer, delay) = judged else { return }
        guard delay > 0 else { return self.answer(id, answer, context) }
        _ = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(delay))) {
            guard self.session.streams[id] != nil else { return }
            self.answer(id, answer, context)
            self.flush(context)
        }
    }

    private func answer(_ id: UInt32, _ answer: FakePushJudge.Answer, _ context: ChannelHandlerContext) {
        if answer.status != 401 { session.announce(streams: streams) }
        session.answer(
            id, status: answer.status, messageID: MessageID(high: 1, low: UInt64(id)), fields: answer.fields,
            body: Array(answer.body.utf8))
        judge.answered()
        if isLeaving, session.streams.isEmpty {
            flush(context)
            _ = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(200)) { context.close(promise: nil) }
        }
    }

    private func flush(_ context: ChannelHandlerContext) {
        if let output = session.takeOutput() { context.writeAndFlush(wrapOutboundOut(output), promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
