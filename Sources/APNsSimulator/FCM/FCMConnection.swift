internal import NIOCore
internal import Synchronization

/// One connection to FCM or to the endpoint for access tokens.
final class FCMConnection: ConnectionService {
    private let state: FCMState
    private let eventLoop: any EventLoop
    private let streams: Int
    private var number = 0
    private var port: UInt16 = 0
    /// Messages that were read to their end.
    private var requests = 0

    init(_ state: FCMState, _ eventLoop: any EventLoop) {
        self.state = state
        self.eventLoop = eventLoop
        streams = state.judge.withLock { $0.configuration.streams }
    }

    var initialStreams: Int { streams }
    var keptBody: Int { FCMMessage.maximumBody + 1 }
    var excess: (reaction: ExcessStreams, code: HTTP2ErrorCode, reason: String) {
        (.goaway, .protocolError, "exceeded_max_concurrent_streams")
    }

    var speaksHTTP1: Bool { true }

    func connect(port: UInt16) {
        self.port = port
        number = state.judge.withLock { $0.record.totals.connect() }
    }

    func disconnect(lost: Int) { state.judge.withLock { $0.record.totals.disconnect(lost: lost) } }

    func greet() -> Orders.Fault? { state.judge.withLock { $0.plan.greet() } }

    func note(_ event: ConnectionEvent) { state.judge.withLock { $0.record.totals.note(event) } }

    func goawayText(_ reason: String) -> String { reason }

    func arrive(_ stream: HTTP2Session.Stream, inFlight: Int) -> Orders {
        if stream.head.path != FCMJudge.tokenPath { requests += 1 }
        let (connection, requests, now) = (number, requests, state.now())
        return state.judge.withLock {
            $0.arrive(
                stream.head, stream.body, number: requests, inFlight: inFlight, connection: connection, now: now)
        }
    }

    func answer(_ stream: HTTP2Session.Stream, _ orders: Orders, arrivedAt: Int) -> ServiceAnswer {
        let (port, now) = (port, state.now())
        if stream.head.path == FCMJudge.tokenPath {
            let answer = state.judge.withLock { $0.exchange(stream.head, stream.body, now: now) }
            return ServiceAnswer(end: answer?.end ?? .stalled)
        }
        let (end, late, delay) = state.judge.withLock { judge in
            let (end, late) = judge.send(
                stream.head, stream.body, orders, port: port, arrivedAt: arrivedAt, now: now)
            return (end, late, judge.faults.reorderDelay)
        }
        if let late {
            // The phone gets the message even if this connection closes before.
            let state = state
            eventLoop.scheduleTask(in: .nanoseconds(Int64(delay * 1e6))) {
                let now = state.now()
                state.judge.withLock { $0.deliverLate(late, now: now) }
            }
        }
        return ServiceAnswer(end: end)
    }
}

/// The state that all connections of FCM share.
final class FCMState: Sendable {
    let judge: Mutex<FCMJudge>
    private let simulator: SimulatorConfiguration
    let idleTimeout: TimeAmount

    init(_ simulator: SimulatorConfiguration, _ configuration: FCMConfiguration) throws(SimulatorError) {
        self.simulator = simulator
        idleTimeout = .nanoseconds(Int64(configuration.idleTimeout * 1e9))
        let account = try ServiceAccountFile(
            directory: simulator.certificateDirectory, projectID: configuration.projectID)
        let tokens = AccessTokens(
            life: configuration.accessTokenLife, tolerance: simulator.clockTolerance, account: account)
        judge = Mutex(FCMJudge(simulator, configuration, tokens))
    }

    /// Milliseconds since 1970, with the simulator's `clockOffset`.
    func now() -> Int { SimulatorState.now(simulator) }

    /// Begins to issue access tokens, and writes the file of the service account.
    /// - Parameter url: of the listener
    /// - Returns: the file's path
    func open(at url: String) throws(SimulatorError) -> String {
        let tokenURI = url + FCMJudge.tokenPath
        let account = judge.withLock {
            $0.tokens.tokenURI = tokenURI
            return $0.tokens.account
        }
        try account.write(tokenURI: tokenURI)
        return account.path
    }
}

extension RequestHead {
    /// The content type without its parameters.
    var mediaType: String? {
        fields.first { $0.name == "content-type" }.map {
            String($0.value.prefix { $0 != ";" && $0 != " " }).lowercased()
        }
    }
}
