internal import APNsWire
internal import Curl
internal import Glibc
internal import LiveActivity
internal import Logging
internal import Threads

/// Headers and body that a page's transfers share, made for one provider token.
struct CurlTemplate {
    let headers: HeaderList
    let body: SharedBody
}

typealias CurlRequest = LaneRequest<CurlTemplate>

/// One thread with one connection and all its transfers. `LaneInbox` has the requests that wait. The lane hands the
/// next one to the connection when the window allows. The lane is made and runs inside its thread, and no part of it
/// leaves that thread.
///
/// Connections: `active` takes requests. If it goes silent, breaks or is told to go away, it moves to `retired`. It
/// keeps its requests there until their answers or deadlines, and is then dropped. The next request makes a new
/// connection.
final class CurlLane {
    /// A connection that was idle for longer begins again with one request, because it may have died without notice.
    static let restMilliseconds: Int64 = 60_000
    /// A full connection is replaced if it starts no request for this long while requests wait. The server may have
    /// told it to go away, which libcurl does not report.
    static let fullMilliseconds: Int64 = 2_000
    /// How often one wake-up goes over the connections. The limit lets the lane notice news under any load.
    static let passes = 4

    private let settings: LaneSettings
    private let endpoint: ServerAddress
    private let handle: LaneHandle
    private let inbox: LaneInbox<CurlTemplate>
    private var active: CurlConnection?
    private var retired: [CurlConnection] = []
    private var delay = ReconnectDelay()
    private var now = monotonicMilliseconds()
    private let path = DevicePath()

    init(_ settings: LaneSettings, _ handle: LaneHandle) {
        self.settings = settings
        self.handle = handle
        endpoint = ServerAddress(
            origin: settings.origin, caFile: settings.caFile,
            requestTimeoutMilliseconds: Int(settings.requestTimeout))
        inbox = LaneInbox(settings, handle) { push, token in
            let fields = [(name: "authorization", value: "bearer \(token.jwt)")] + push.fields
            return (try? HeaderList(fields)).map { CurlTemplate(headers: $0, body: SharedBody(push.payload)) }
        }
    }

    /// Blocks until the transport is closing and nothing is in flight.
    func run() {
        while true {
            now = monotonicMilliseconds()
            inbox.now = now
            inbox.look()
            let hasMore = work()
            if inbox.isClosing, active?.connection.inFlight ?? 0 == 0, retired.isEmpty, !inbox.hasOwn { break }
            if !hasMore, handle.rest(capacity) { sleep() }
        }
        active = nil
        handle.end()
    }

    // MARK: Requests out, answers in

    /// Does the work of one wake-up: fills the connection and reads the answers.
    /// - Returns: true when more can be handed over at once, so the lane must not sleep before the next call
    private func work() -> Bool {
        if let active, now - active.lastUse > Self.restMilliseconds, active.connection.inFlight == 0 {
            active.window.rested()
        }
        var hasMore = true
        for _ in 0..<Self.passes where hasMore {
            fill()
            if let active {
                active.connection.perform()
                active.window.uses(streams: active.connection.running)
            }
            for connection in retired { connection.connection.perform() }
            // Ended transfers make room for new ones.
            var ended = false
            if let active { ended = drain(active) }
            for connection in retired { ended = drain(connection) || ended }
            hasMore = ended && !inbox.isEmpty
        }
        retired.removeAll { $0.connection.inFlight == 0 }
        active?.connection.uncork()
        for connection in retired { connection.connection.uncork() }
        return hasMore && now >= delay.notBefore
    }

    /// Hands over as many requests as the window allows.
    private func fill() {
        guard !inbox.isClosing, !inbox.isEmpty else { return }
        replaceFullConnection()
        guard let connection = openConnection(), connection.hasRoom else { return }
        guard inbox.refreshToken() else { return inbox.failAll() }
        connection.lastUse = now
        while connection.hasRoom, let request = inbox.next(capacity) {
            do {
                try hand(request, to: connection)
            } catch {
                settings.logger.error("libcurl took no request", metadata: ["error": "\(error)"])
                inbox.unanswered(request, .connectionFailed, mayHaveBeenDelivered: false)
            }
        }
    }

    private var capacity: PageQueue.Capacity {
        guard let active else { return PageQueue.Capacity(room: now >= delay.notBefore ? 1 : 0) }
        return PageQueue.Capacity(
            room: active.room, reserve: active.window.size / PageQueue.placesToReserve, isConnected: active.answers > 0,
            pace: active.pace)
    }

    private func hand(_ request: CurlRequest, to connection: CurlConnection) throws(CurlError) {
        switch request.part.push {
        case .devices:
            try path.withPath(request.part.page, request.index) { (path) throws(CurlError) in
                try connection.hand(request, path: path)
            }
        case .broadcast(let broadcast):
            // Copying these bytes with a NUL for each request is cheap, because broadcasts are few.
            let path = Array(broadcast.path.utf8CString)
            try connection.hand(request, path: path)
        }
    }

    private func openConnection() -> CurlConnection? {
        if let active { return active }
        guard now >= delay.notBefore else { return nil }
        do {
            let connection = try CurlConnection(endpoint, maximumStreams: settings.maximumStreams)
            connection.lastUse = now
            active = connection
            return connection
        } catch {
            settings.logger.error("no connection could be prepared", metadata: ["error": "\(error)"])
            delay.failed(now: now, jitter: .random(in: 0...1))
            inbox.connectionFailed(.connectionFailed)
            return nil
        }
    }

    private func replaceFullConnection() {
        guard let active, let since = active.fullSince, now - since > Self.fullMilliseconds else { return }
        retire(active)
    }

    /// Reads the transfers that have ended.
    /// - Returns: whether there were any
    private func drain(_ connection: CurlConnection) -> Bool {
        var any = false
        while let (transfer, result) = connection.connection.nextFinished() {
            any = true
            guard let request = connection.release(transfer) else { continue }
            switch RequestFate(result, isEstablished: connection.isEstablished) {
            case .answered(let status): answered(request, status, transfer, connection)
            case .unprocessed:
                noteRefusal(result, connection)
                inbox.unprocessed(request)
            case .unconnected(let cause):
                unconnected(request, cause, result, transfer, connection)
                continue
            case .unknown(let cause):
                // Report this last: the sender may post a page at once, and `leaveSilent` must not fail that page too.
                defer { inbox.unanswered(request, cause, mayHaveBeenDelivered: true) }
                if cause == .timeout {
                    if result.hasUnsentBody, !connection.hasToldOfWindow {
                        connection.hasToldOfWindow = true
                        settings.tellOfClosedWindow(inFlight: connection.connection.inFlight)
                    }
                    // Retire the connection only if it is silent: one late answer among others is not its fault.
                    guard connection.isSilent(now: now) else { continue }
                    leaveSilent(connection)
                }
            }
            if RequestFate.retiresConnection(result) { retire(connection) }
        }
        return any
    }

    private func answered(
        _ request: CurlRequest, _ status: Int, _ transfer: PreparedTransfer, _ connection: CurlConnection
    ) {
        let isLate = now - request.since > settings.requestTimeout / 4
        connection.window.answered(
            status == 200 ? .accepted : status == 403 ? .unauthenticated : .rejected, isLate: isLate)
        connection.answered(request, now: now)
        if connection.answers == ReconnectDelay.provenAnswers { delay.proved() }
        guard status != 200 else { return request.part.accept() }
        let rejection = Rejection(
            status: status, body: transfer.withAnswer(ResponseBody.init),
            retryAfter: transfer.header("retry-after")?.utf8)
        if inbox.rejected(request, rejection) { retire(connection) }
    }

    // MARK: Connections

    private func noteRefusal(_ result: TransferResult, _ connection: CurlConnection) {
        guard let streams = result.streamsAtRefusal, !result.wasDeclaredUnprocessed else { return }
        // With no stream in use the connection is not full, but gone.
        guard streams > 0 else { return retire(connection) }
        connection.window.refused(streams: connection.connection.running)
        if connection.fullSince == nil { connection.fullSince = now }
    }

    /// Handles a request whose connection could not be made.
    private func unconnected(
        _ request: CurlRequest, _ cause: NoAnswer.Cause, _ result: TransferResult, _ transfer: PreparedTransfer,
        _ connection: CurlConnection
    ) {
        let words = result.isHTTP2 ? connection.connection.words(on: transfer) : "the server does not speak HTTP/2"
        settings.logger.warning(
            "no connection to APNs",
            metadata: ["origin": "\(settings.origin)", "cause": "\(cause.rawValue)", "error": "\(words)"])
        retire(connection)
        inbox.connectionFailed(cause)
        // Report this last: the sender may post a page at once, and `connectionFailed` must not fail that page too.
        inbox.unanswered(request, cause, mayHaveBeenDelivered: result.status != 0)
    }

    /// Gives this connection no more requests. It is dropped when its last one has ended.
    private func retire(_ connection: CurlConnection) {
        guard connection === active else { return }
        active = nil
        retired.append(connection)
        connection.takeBackUnsent().forEach(inbox.putBack)
        if connection.answers < ReconnectDelay.provenAnswers { delay.failed(now: now, jitter: .random(in: 0...1)) }
        settings.logger.debug(
            "connection retired", metadata: ["in_flight": "\(connection.connection.inFlight)"])
        guard connection.answers == 0, delay.isHopeless else { return }
        settings.tellOfRefusal(failures: delay.failures)
        inbox.connectionFailed(.connectionFailed)
    }

    /// Retires a silent connection. If its server has never answered, the lane counts it as unreachable.
    private func leaveSilent(_ connection: CurlConnection) {
        guard connection === active else { return }
        retire(connection)
        if connection.answers == 0 { inbox.connectionFailed(.timeout) }
    }

    // MARK: Sleep

    /// Sleeps until a socket is ready, another thread signals the lane, or a timer is due.
    private func sleep() {
        var milliseconds: Int64 = 60_000
        if active == nil, now < delay.notBefore {
            milliseconds = delay.notBefore - now
        } else if inbox.hasOwn || active?.fullSince != nil {
            // The lane waits here for a full connection to be replaced.
            milliseconds = Self.fullMilliseconds / 4
        }
        // libcurl's timers of retired connections are not part of the active connection's poll.
        if !retired.isEmpty { milliseconds = min(milliseconds, 20) }
        var others = [handle.descriptor]
        guard let polling = active ?? retired.first else {
            var descriptor = pollfd(fd: handle.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&descriptor, 1, Int32(milliseconds))
            return
        }
        for connection in retired where connection !== polling { others += connection.connection.descriptors }
        polling.connection.poll(others: others, milliseconds: Int32(milliseconds))
    }
}
