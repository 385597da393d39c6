internal import NIOCore
internal import Synchronization

/// One connection to APNs: for devices and broadcasts, or for channel management.
final class APNsConnection: ConnectionService {
    /// Which of Apple's hosts the listener stands for.
    enum Host {
        /// `api.push.apple.com`: devices and broadcasts.
        case push
        /// `api-manage-broadcast.push.apple.com`. Its requests and connections are counted apart.
        case channels
    }

    private let host: Host
    private let shared: SimulatorState
    private var facts = ConnectionFacts()
    /// Whether the limit of streams was raised.
    private var raised = false
    /// The limit to come back to after a rejection lowered it.
    private var streams: Int

    init(_ host: Host, _ shared: SimulatorState) {
        self.host = host
        self.shared = shared
        streams = shared.configuration.streams
    }

    var initialStreams: Int { shared.configuration.initialStreams }
    var keptBody: Int { max(Judge.maximumPayload, Judge.maximumBroadcast) + 1 }
    var excess: (reaction: ExcessStreams, code: HTTP2ErrorCode, reason: String) {
        (shared.configuration.excessStreams, .enhanceYourCalm, "TooManyStreams")
    }

    var speaksHTTP1: Bool { false }

    func connect(port: UInt16) {
        guard host == .push else { return }
        facts.port = port
        facts.number = shared.judge.withLock { $0.record.totals.connect() }
    }

    func disconnect(lost: Int) {
        if host == .push { shared.judge.withLock { $0.record.totals.disconnect(lost: lost) } }
    }

    func greet() -> Orders.Fault? { host == .push ? shared.judge.withLock { $0.plan.greet() } : nil }

    func note(_ event: ConnectionEvent) { shared.judge.withLock { $0.record.totals.note(event) } }

    func goawayText(_ reason: String) -> String { #"{"reason":"\#(reason)"}"# }

    func arrive(_ stream: HTTP2Session.Stream, inFlight: Int) -> Orders {
        guard host == .push else { return Orders() }
        facts.requests += 1
        let (number, connection, now) = (facts.requests, facts.number, shared.now)
        let orders = shared.judge.withLock {
            $0.arrive(stream.head, number: number, inFlight: inFlight, connection: connection, now: now)
        }
        if let streams = orders.streams {
            self.streams = streams
            raised = true
        }
        return orders
    }

    func answer(_ stream: HTTP2Session.Stream, _ orders: Orders, arrivedAt: Int) -> ServiceAnswer {
        var facts = facts
        let (host, now) = (host, shared.now)
        let (answer, retryAfter) = shared.judge.withLock { judge in
            let answer =
                host == .push
                ? judge.judge(
                    stream.head, body: stream.body, stallsHere: orders.stalls, connection: &facts,
                    arrivedAt: arrivedAt, now: now)
                : judge.judgeManagement(stream.head, body: stream.body, connection: &facts, now: now)
            return (answer, judge.faults.retryAfter)
        }
        self.facts = facts
        var announced: [Int] = []
        if facts.isAuthenticated, !raised {
            raised = true
            announced.append(streams)
        }
        let idName: StaticString = host == .push && !stream.head.isBroadcast ? "apns-id" : "apns-request-id"
        switch answer.judgement {
        case .accepted:
            if orders.dropsOnRejection, raised { announced.append(streams) }
            let fields = answer.channelID.map { [(name: "apns-channel-id", value: $0)] } ?? []
            let end = ServiceAnswer.End.response(
                status: answer.status, id: answer.id, idName: idName, fields: fields, body: answer.body)
            return ServiceAnswer(end: end, announced: announced)
        case .rejected(let reason, let timestamp):
            if orders.dropsOnRejection { announced.append(1) }
            var fields: [(name: String, value: String)] = []
            if let retryAfter, reason.status == 429 || reason.status == 503 {
                fields = [("retry-after", "\(retryAfter)")]
            }
            let body = timestamp.map { Array(#"{"reason":"\#(reason.rawValue)","timestamp":\#($0)}"#.utf8) }
            let end = ServiceAnswer.End.response(
                status: reason.status, id: answer.id, idName: idName, fields: fields,
                body: body ?? shared.bodies[reason, default: []])
            return ServiceAnswer(end: end, announced: announced)
        case .reset(let code): return ServiceAnswer(end: .reset(code), announced: announced)
        case .stalled: return ServiceAnswer(end: .stalled, announced: announced)
        }
    }
}
