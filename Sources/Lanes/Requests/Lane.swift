import Delivery
internal import Logging
internal import Threads

/// One thread with one connection that takes requests; `LaneRequests` has the requests that wait. A lane is made and
/// runs in its thread, and no part of it leaves that thread. docs/contributing.md says how to add one.
///
/// `active` takes requests. If it goes silent, breaks or is told to go away, it moves to `retired`. It keeps its
/// requests there until their answers or deadlines. The next request makes a new connection.
protocol Lane: AnyObject {
    associatedtype Connection: LaneConnection

    /// Makes the function that the lane's thread runs until the transport is closing.
    static func body(_ settings: LaneSettings, _ handle: LaneHandle) throws(LaneError) -> @Sendable () -> Void

    var settings: LaneSettings { get }
    var handle: LaneHandle { get }
    var requests: LaneRequests<Connection.Template> { get }
    var active: Connection? { get set }
    var retired: [Connection] { get set }
    var delay: ReconnectDelay { get set }
    var shut: ShutConnections { get set }
    var capacity: PageQueue.Capacity { get }

    /// Does the work of one wake-up: hands over requests and reports outcomes. True when there is more to do at once.
    func work() -> Bool
    /// Sleeps until a socket is ready, a thread signals the lane or a timer is due. With work it only looks at sockets.
    func sleep(hasWork: Bool)
    /// Ends the active connection, which has no request in flight.
    func leave()
}

extension Lane {
    /// Monotonic milliseconds of this wake-up.
    var now: Int64 { requests.now }

    /// Blocks until the transport is closing and nothing is in flight.
    func run() {
        while true {
            requests.now = monotonicMilliseconds()
            requests.wokeUp()
            let hasMore = work()
            requests.leaveOpen(begunAfter: heldUpTo)
            requests.report(
                inFlight: retired.reduce(active?.inFlight ?? 0) { $0 + $1.inFlight }, streams: active?.streams ?? 0)
            if requests.isClosing, active?.inFlight ?? 0 == 0, retired.isEmpty, !requests.hasOwn { break }
            sleep(hasWork: hasMore || !handle.sleepIfIdle(capacity))
        }
        leave()
        if let active, active.use.answers > 0 { settings.metrics.ended(.closed) }
        requests.report(inFlight: 0, streams: 0)
        active = nil
        handle.end()
    }

    /// A request that has not left this machine belongs to its page, and is never left open. Only parts that were begun
    /// later than this have none: all others may have some on a connection that holds requests back.
    private var heldUpTo: Int64 {
        if active?.holdsRequestsBack ?? false { return .max }
        var time = Int64.min
        for connection in retired where connection.holdsRequestsBack { time = max(time, connection.use.lastRequest) }
        return time
    }

    /// When open requests leave their page if nothing comes before.
    var nextOpen: Int64? { requests.nextOpen(begunAfter: heldUpTo) }

    /// Settles a request that the server answered. Counts a 200.
    /// - Parameters:
    ///   - fields: reads the answer's header fields, for a trace
    ///   - rejection: reads any other answer, for `LaneRequests.rejected`
    func settleAnswered(
        _ request: LaneRequest<Connection.Template>, _ status: Int, on connection: Connection,
        fields: () -> [Exchange.Field], rejection: () -> Rejection
    ) {
        connection.use.answered(handedAt: request.handedAt, now: now)
        requests.answered(handedAt: request.handedAt)
        shut.answered()
        if connection.use.isAside { comeBack(connection) }
        if connection.use.answers == 1, connection === active { settings.metrics.opened() }
        if connection.use.answers == ConnectionUse.provenAnswers { delay.succeeded() }
        guard status != 200 else {
            // Note it first: the last acceptance of a page resumes the sender.
            if let trace = request.part.trace {
                requests.note(request, .answered(status: status, reason: "", fields: fields()), in: trace)
            }
            request.part.accept(request.index)
            if request.part.isSettled { settings.metrics.answered(after: now - request.handedAt) }
            return
        }
        let rejection = rejection()
        if let trace = request.part.trace {
            requests.note(
                request, .answered(status: status, reason: rejection.reason, fields: fields()), in: trace)
        }
        if requests.rejected(request, rejection) { retire(connection, .answer, rejection.reason) }
    }

    /// The seconds in the `Retry-After` of an answer.
    func retryAfter(_ value: [UInt8]?) -> Int? {
        value.flatMap { RetryAfter.seconds($0, now: Int(settings.clock() / 1_000)) }
    }

    /// Settles a request that was sent and has no answer. `isLate`: its time was up.
    func unanswered(
        _ request: LaneRequest<Connection.Template>, _ cause: NoAnswer.Cause, isLate: Bool, hasUnsentBody: Bool,
        on connection: Connection
    ) {
        if isLate, hasUnsentBody { logClosedWindow(connection) }
        if isLate, connection.use.isSilent(now: now, timeout: settings.requestTimeout) {
            noteSilence(connection, request)
        }
        // Report this last: the sender may post a page at once, and `retireSilent` must not fail that page too.
        // Nothing delivers a request without its end.
        let isUnsent = isLate && hasUnsentBody
        requests.unanswered(request, isUnsent ? .windowClosed : cause, mayHaveBeenDelivered: !isUnsent)
    }

    /// Refreshes the credential. Leaves a connection that may not carry the new one; its requests in flight get their
    /// answers there.
    /// - Returns: false if no credential can be made
    func refreshCredential() -> Bool {
        guard requests.refreshCredential() else { return false }
        guard let active, let key = requests.key else { return true }
        if active.use.key == nil { active.use.key = key }
        guard active.use.key != key else { return true }
        settings.logger.debug(
            "connection retired", metadata: ["why": "another key", "in_flight": "\(active.inFlight)"])
        self.active = nil
        retired.append(active)
        active.takeBackUnsent().forEach(requests.putBack)
        return true
    }

    /// Handles a connection that could not be made.
    func unconnected(_ cause: NoAnswer.Cause, _ message: String) {
        logNoConnection(cause, message)
        delay.failed(now: now, fraction: .random(in: 0.5...1))
        requests.connectionFailed(cause)
    }

    /// Replaces a connection that has been full for too long. The server may have told it to go away, which libcurl
    /// does not report, or may allow no stream at all.
    func replaceFullConnection() {
        guard let active, let since = active.use.fullSince, now - since > ConnectionUse.fullMilliseconds else { return }
        retire(active, .full, "takes no requests")
    }

    /// Gives this connection no more requests. It is dropped when its last one has ended.
    /// - Parameter cause: nil if the metrics know of it already
    func retire(_ connection: Connection, _ cause: LaneMetrics.EndCause?, _ why: String) {
        guard connection === active else { return }
        active = nil
        retired.append(connection)
        connection.takeBackUnsent().forEach(requests.putBack)
        replaced(connection, cause, why)
    }

    /// A request had no answer in its time, and none came for the second half of that. One late answer among others is
    /// not the connection's fault.
    private func noteSilence(_ connection: Connection, _ request: LaneRequest<Connection.Template>) {
        let heardNothing = connection.heardNothing(now: now, timeout: settings.requestTimeout)
        // A silent phone says nothing about a connection on which PINGs are answered. A token that had no answer before
        // is one.
        let isPhone = connection.use.noteLate(handedAt: request.handedAt, now: now) || request.part.isRetry
        if heardNothing == false, isPhone { return }
        let isSure = heardNothing ?? shut.isSure(without: connection.use.firstToken ?? [])
        retireSilent(connection, isUnreachable: isSure)
    }

    /// Retires a silent connection.
    /// - Parameter isUnreachable: if the server has never answered on it, it is out of reach
    func retireSilent(_ connection: Connection, isUnreachable: Bool) {
        let wasInUse = connection === active || connection.use.isAside
        connection.use.isAside = false
        if connection === active { retire(connection, .silent, "silent") }
        if wasInUse, isUnreachable, connection.use.answers == 0 { requests.connectionFailed(.timeout) }
    }

    /// Lets the next request pass, although each stream of the connection has a request that is not answered. A token
    /// that is never answered must not hold up the others, least of all on a new connection, which has one stream.
    /// Widens the connection also if nothing waits, because a lane without room is not woken by what comes.
    func passShutConnection() {
        guard let active, active.isShut else { return }
        let wait = requests.wait
        let due = active.use.lastRequest + wait
        guard now >= due, active.isAlive(since: due, now: now) else { return }
        if active.widen() { return }
        guard active.room <= 0, !requests.isEmpty, shut.mayPass(now: now),
            retired.count(where: \.use.isAside) < ShutConnections.most
        else { return }
        shut.passed(now: now, wait: wait)
        active.use.isAside = true
        self.active = nil
        retired.append(active)
        active.takeBackUnsent().forEach(requests.putBack)
        settings.logger.debug(
            "requests are not answered; making another connection", metadata: ["in_flight": "\(active.inFlight)"])
    }

    /// A connection that stood aside has an answer. It takes requests again, unless the active one has had answers.
    private func comeBack(_ connection: Connection) {
        connection.use.isAside = false
        guard active?.use.answers ?? 0 == 0 else { return }
        if let active {
            active.use.isAside = true
            retired.append(active)
            active.takeBackUnsent().forEach(requests.putBack)
        }
        retired.removeAll { $0 === connection }
        active = connection
    }

    /// Notes that a connection, which was the active one, takes no more requests.
    func replaced(_ connection: Connection, _ cause: LaneMetrics.EndCause?, _ why: String) {
        let answers = connection.use.answers
        if answers > 0 {
            settings.metrics.ended(cause ?? .lost)
        } else if let cause {
            settings.metrics.failed(isTimeout: cause == .silent)
        }
        settings.logger.debug(
            "connection retired",
            metadata: ["why": "\(why)", "answers": "\(answers)", "in_flight": "\(connection.inFlight)"])
        // A server that answers PINGs is there. Its tokens are silent, and a new connection may begin with another one.
        if cause == .silent, connection.heardNothing(now: now, timeout: settings.requestTimeout) == false { return }
        if answers < ConnectionUse.provenAnswers { delay.failed(now: now, fraction: .random(in: 0.5...1)) }
        guard answers == 0, delay.failures >= ConnectionUse.hopelessFailures else { return }
        settings.logger.warning(
            "\(settings.platform.name.title) accepts no requests on its connections; waiting pushes are tried again later",
            metadata: ["origin": "\(settings.origin.text)", "connections": "\(delay.failures)"])
        requests.connectionFailed(.connectionFailed)
    }

    func logNoConnection(_ cause: NoAnswer.Cause, _ message: String) {
        settings.metrics.failed(isTimeout: cause == .timeout, isTLS: cause == .tls)
        settings.logger.warning(
            "no connection to \(settings.platform.name.title)",
            metadata: ["origin": "\(settings.origin.text)", "cause": "\(cause.rawValue)", "error": "\(message)"])
    }

    /// Logs once for each connection that its flow-control window is closed. The timeouts do not show that.
    private func logClosedWindow(_ connection: Connection) {
        guard !connection.use.hasLoggedWindow else { return }
        connection.use.hasLoggedWindow = true
        settings.logger.warning(
            "\(settings.platform.name.title) accepts no request bodies: its flow-control window stays closed",
            metadata: ["origin": "\(settings.origin.text)", "in_flight": "\(connection.inFlight)"])
    }
}

/// A connection of a lane with the requests of its streams.
protocol LaneConnection: AnyObject {
    /// The part that all requests of a page share, in the form that the connection takes.
    associatedtype Template

    var inFlight: Int { get }
    /// How many requests may be in flight.
    var streams: Int { get }
    /// How many requests may begin now.
    var room: Int { get }
    /// Some of its requests have not left this machine.
    var holdsRequestsBack: Bool { get }
    /// No byte came for the second half of a request's time; nil if the connection cannot know.
    func heardNothing(now: Int64, timeout: Int64) -> Bool?
    /// Whether something shows that the other side lives, and has nothing to say about the requests in flight. Asks the
    /// other side if it can.
    /// - Parameter time: only what came later counts
    func isAlive(since time: Int64, now: Int64) -> Bool
    /// Adds streams, because the other side lives and would take more requests. False if it takes no more.
    func widen() -> Bool
    var use: ConnectionUse { get set }
    /// Takes back the requests that have not begun to be sent.
    func takeBackUnsent() -> [LaneRequest<Template>]
}

extension LaneConnection {
    /// How many streams are kept for small pages.
    var reserve: Int { streams / PageQueue.streamsForOneReserved }
    /// Each stream that a large page may have has a request that is not answered.
    var isShut: Bool { inFlight > 0 && room <= reserve }
}
