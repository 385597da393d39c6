internal import APNsWire
internal import Curl
internal import Glibc
internal import LiveActivity
internal import Logging

/// What a page's transfers share, made for one provider token.
struct CurlForm {
    let headers: HeaderList
    let body: SharedBody
}

typealias CurlRequest = LaneRequest<CurlForm>

/// One thread with one connection and all its transfers. What waits lies on the desk (`PageDesk`); its next request is
/// handed to the connection when the window allows. Made and run inside the lane's thread; nothing of it leaves it.
///
/// Connections: `active` takes requests. When it goes silent, breaks or is told to go away it moves to `retired`, keeps
/// what is in flight until answer or deadline, and is dropped; the next request makes a new one.
final class Lane {
    /// A connection idle for longer begins again with one request: it may have died without a word.
    static let restMilliseconds: Int64 = 60_000
    /// A full connection that starts nothing for this long, with requests waiting, is replaced: it may have been told to
    /// go away, which libcurl does not tell.
    static let fullMilliseconds: Int64 = 2_000
    /// Passes over the connections per wake-up, so that the mailbox is looked at under any load.
    static let passes = 4

    private let settings: LaneSettings
    private let endpoint: Endpoint
    private let mailbox: LaneMailbox
    private let desk: PageDesk<CurlForm>
    private var active: LaneConnection?
    private var retired: [LaneConnection] = []
    private var delay = ReconnectDelay()
    private var now = monotonicMilliseconds()
    private let path = DevicePath()

    init(_ settings: LaneSettings, _ mailbox: LaneMailbox) {
        self.settings = settings
        self.mailbox = mailbox
        endpoint = Endpoint(
            origin: settings.origin, caFile: settings.caFile,
            requestTimeoutMilliseconds: Int(settings.requestTimeout))
        desk = PageDesk(settings) { push, token in
            let fields = [(name: "authorization", value: "bearer \(token.jwt)")] + push.fields
            return (try? HeaderList(fields)).map { CurlForm(headers: $0, body: SharedBody(push.payload)) }
        }
    }

    /// Blocks until the mailbox is closing and nothing is in flight.
    func run() {
        while true {
            now = monotonicMilliseconds()
            desk.now = now
            desk.receive(mailbox.take())
            let hasMore = work()
            if desk.isClosing, active?.connection.inFlight ?? 0 == 0, retired.isEmpty { break }
            if !hasMore { sleep() }
        }
        active = nil
        mailbox.end()
    }

    // MARK: Requests out, answers in

    /// True when there is more to hand over at once: no sleep before the next call.
    private func work() -> Bool {
        if let active, now - active.lastUse > Self.restMilliseconds, active.connection.inFlight == 0 {
            active.window.rested()
        }
        var hasMore = true
        for _ in 0..<Self.passes where hasMore {
            fill()
            active?.connection.perform()
            for connection in retired { connection.connection.perform() }
            // What has ended makes room.
            var ended = false
            if let active { ended = drain(active) }
            for connection in retired { ended = drain(connection) || ended }
            hasMore = ended && !desk.isEmpty
        }
        retired.removeAll { $0.connection.inFlight == 0 }
        active?.connection.uncork()
        for connection in retired { connection.connection.uncork() }
        return hasMore && now >= delay.notBefore
    }

    /// Hands over as much as the window allows.
    private func fill() {
        guard !desk.isEmpty else { return }
        replaceFullConnection()
        guard let connection = openConnection(), connection.hasRoom else { return }
        guard desk.refreshToken() else { return desk.failAll(.connectionFailed) }
        connection.lastUse = now
        while connection.hasRoom, let request = desk.next() {
            do {
                try hand(request, to: connection)
            } catch {
                settings.logger.error("libcurl took no request", metadata: ["error": "\(error)"])
                desk.unanswered(request, .connectionFailed, mayHaveBeenDelivered: false)
            }
        }
    }

    private func hand(_ request: CurlRequest, to connection: LaneConnection) throws(CurlError) {
        switch request.job.request.push {
        case .devices:
            try path.withPath(request.job.request.page, request.index) { (path) throws(CurlError) in
                try connection.hand(request, path: path)
            }
        case .broadcast(let broadcast):
            // Some bytes with a NUL, once a request: broadcasts are few.
            let path = Array(broadcast.path.utf8CString)
            try connection.hand(request, path: path)
        }
    }

    private func openConnection() -> LaneConnection? {
        if let active { return active }
        guard now >= delay.notBefore else { return nil }
        do {
            let connection = try LaneConnection(endpoint, maximumStreams: settings.maximumStreams)
            connection.lastUse = now
            active = connection
            return connection
        } catch {
            settings.logger.error("no connection could be prepared", metadata: ["error": "\(error)"])
            delay.failed(now: now, jitter: .random(in: 0...1))
            desk.failAll(.connectionFailed)
            return nil
        }
    }

    private func replaceFullConnection() {
        guard let active, let since = active.fullSince, now - since > Self.fullMilliseconds else { return }
        retire(active)
    }

    /// Reads the transfers that have ended; whether there were any.
    private func drain(_ connection: LaneConnection) -> Bool {
        var any = false
        while let (transfer, result) = connection.connection.nextFinished() {
            any = true
            guard let request = connection.release(transfer) else { continue }
            switch RequestFate(result, isEstablished: connection.isEstablished) {
            case .answered(let status): answered(request, status, transfer, connection)
            case .unprocessed:
                noteRefusal(result, connection)
                desk.unprocessed(request)
            case .unconnected(let cause):
                unconnected(request, cause, result, transfer, connection)
                continue
            case .unknown(let cause): desk.unanswered(request, cause, mayHaveBeenDelivered: true)
            }
            if RequestFate.retiresConnection(result) { retire(connection) }
        }
        return any
    }

    private func answered(
        _ request: CurlRequest, _ status: Int, _ transfer: PreparedTransfer, _ connection: LaneConnection
    ) {
        let isLate = now - request.since > settings.requestTimeout / 4
        connection.window.answered(isAuthenticated: status != 403, isLate: isLate)
        connection.fullSince = nil
        connection.lastUse = now
        connection.answers += 1
        if connection.answers == ReconnectDelay.provenAnswers { delay.proved() }
        guard status != 200 else { return request.job.accept() }
        let rejection = Rejection(
            status: status, body: transfer.withAnswer(AnswerBody.init),
            retryAfter: transfer.header("retry-after").flatMap { Int($0) })
        if desk.rejected(request, rejection) { retire(connection) }
    }

    // MARK: Connections

    private func noteRefusal(_ result: TransferResult, _ connection: LaneConnection) {
        guard let streams = result.streamsAtRefusal, !result.wasDeclaredUnprocessed else { return }
        // With nothing in use the connection is not full, but gone.
        guard streams > 0 else { return retire(connection) }
        connection.window.refused(streams: streams)
        if connection.fullSince == nil { connection.fullSince = now }
    }

    /// The connection could not be made: so it would go for all that waits, which comes back at once to be retried with
    /// backoff by whoever sent it.
    private func unconnected(
        _ request: CurlRequest, _ cause: NoAnswer.Cause, _ result: TransferResult, _ transfer: PreparedTransfer,
        _ connection: LaneConnection
    ) {
        let words = result.isHTTP2 ? connection.connection.words(on: transfer) : "the server does not speak HTTP/2"
        settings.logger.warning(
            "no connection to APNs",
            metadata: ["origin": "\(settings.origin)", "cause": "\(cause.rawValue)", "error": "\(words)"])
        desk.unanswered(request, cause, mayHaveBeenDelivered: result.status != 0)
        retire(connection)
        desk.failAll(cause)
    }

    /// No more requests for this connection. It is dropped when its last one has ended.
    private func retire(_ connection: LaneConnection) {
        guard connection === active else { return }
        active = nil
        retired.append(connection)
        connection.takeBackUnsent().forEach(desk.putBack)
        if connection.answers < ReconnectDelay.provenAnswers { delay.failed(now: now, jitter: .random(in: 0...1)) }
        settings.logger.debug(
            "connection retired", metadata: ["in_flight": "\(connection.connection.inFlight)"])
    }

    // MARK: Sleep

    /// Until a socket is ready, something is posted, or a timer is due.
    private func sleep() {
        var milliseconds: Int64 = 60_000
        if !desk.isEmpty {
            // Waiting for a connection to be allowed, or for a full one to be given up.
            milliseconds = active == nil ? max(1, delay.notBefore - now) : Self.fullMilliseconds / 4
        }
        // libcurl's timers of the retired are not part of the active one's poll.
        if !retired.isEmpty { milliseconds = min(milliseconds, 20) }
        var others = [mailbox.descriptor]
        guard let polling = active ?? retired.first else {
            var descriptor = pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&descriptor, 1, Int32(milliseconds))
            return
        }
        for connection in retired where connection !== polling { others += connection.connection.descriptors }
        polling.connection.poll(others: others, milliseconds: Int32(milliseconds))
    }
}

func monotonicMilliseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}
