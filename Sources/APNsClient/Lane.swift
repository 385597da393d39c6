internal import APNsWire
internal import Curl
internal import Glibc
internal import LiveActivity
internal import Logging

/// What the lanes of one transport share.
struct LaneSettings: Sendable {
    var endpoint: Endpoint
    var maximumStreams: Int
    var tokens: ProviderTokenSource
    var logger: Logger
}

/// One thread with one connection and all its transfers. The life of a request: a page arrives in the mailbox, waits in
/// `queue`, its next entry is handed to the connection when the window allows, and its outcome is written into the page's
/// job, which resumes the sender with its last one. Made and run inside the lane's thread; nothing of it leaves it.
///
/// Connections: `active` takes requests. When it goes silent, breaks or is told to go away it moves to `retired`, keeps
/// what is in flight until answer or deadline, and is dropped; the next request makes a new one.
final class Lane {
    /// Entries handed over from one page before the next page has its turn: a one-token page waits for thousands at most
    /// this long.
    static let turn = 32
    /// A connection idle for longer begins again with one request: it may have died without a word.
    static let restMilliseconds: Int64 = 60_000
    /// A full connection that starts nothing for this long, with requests waiting, is replaced: it may have been told to
    /// go away, which libcurl does not tell.
    static let fullMilliseconds: Int64 = 2_000
    /// Passes over the connections per wake-up, so that the mailbox is looked at under any load.
    static let passes = 4

    private let settings: LaneSettings
    private let mailbox: LaneMailbox
    private var queue: [PageJob] = []
    /// Requests to send again: before all others.
    private var repeats: [LaneRequest] = []
    private var active: LaneConnection?
    private var retired: [LaneConnection] = []
    private var delay = ReconnectDelay()
    private var isClosing = false
    private var now = monotonicMilliseconds()
    private let path = DevicePath()
    /// The last push's headers and body: the pages of one push share them.
    private var shared: (push: LanePush, token: ProviderToken, headers: HeaderList, body: SharedBody)?

    init(_ settings: LaneSettings, _ mailbox: LaneMailbox) {
        self.settings = settings
        self.mailbox = mailbox
    }

    /// Blocks until the mailbox is closing and nothing is in flight.
    func run() {
        while true {
            now = monotonicMilliseconds()
            receive()
            let hasMore = work()
            if isClosing, active?.connection.inFlight ?? 0 == 0, retired.isEmpty { break }
            if !hasMore { sleep() }
        }
        active = nil
        mailbox.end()
    }

    // MARK: Pages in

    private func receive() {
        let delivery = mailbox.take()
        isClosing = delivery.isClosing
        for request in delivery.pages {
            do {
                queue.append(try job(for: request))
            } catch {
                // No memory, or a key that no longer signs: the pages come back later.
                settings.logger.error("a page could not be prepared", metadata: ["error": "\(error)"])
                let outcome = PushOutcome.unanswered(.init(.connectionFailed, mayHaveBeenDelivered: false))
                request.continuation.resume(returning: PageOutcome(all: request.page, outcome))
            }
        }
        guard isClosing else { return }
        let cancelled = PushOutcome.unanswered(.init(.cancelled, mayHaveBeenDelivered: false))
        for job in queue { job.recordUnsent(cancelled) }
        for item in repeats { item.job.record(item.index, cancelled) }
        queue = []
        repeats = []
    }

    private func job(for request: PageRequest) throws -> PageJob {
        let token = try settings.tokens.current()
        if let shared, shared.push == request.push, shared.token == token {
            return PageJob(request, body: shared.body, headers: shared.headers, headersToken: token)
        }
        let headers = try Self.headers(request.push, token)
        let body = SharedBody(request.push.payload)
        shared = (request.push, token, headers, body)
        return PageJob(request, body: body, headers: headers, headersToken: token)
    }

    private static func headers(_ push: LanePush, _ token: ProviderToken) throws(CurlError) -> HeaderList {
        try HeaderList([(name: "authorization", value: "bearer \(token.jwt)")] + push.fields)
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
            hasMore = ended && (!queue.isEmpty || !repeats.isEmpty)
        }
        retired.removeAll { $0.connection.inFlight == 0 }
        active?.connection.uncork()
        for connection in retired { connection.connection.uncork() }
        return hasMore && now >= delay.notBefore
    }

    /// Hands over as much as the window allows.
    private func fill() {
        guard !queue.isEmpty || !repeats.isEmpty else { return }
        replaceFullConnection()
        guard let connection = openConnection(), connection.hasRoom else { return }
        let token: ProviderToken
        do {
            token = try settings.tokens.current()
        } catch {
            settings.logger.error("no provider token could be signed", metadata: ["error": "\(error)"])
            failAll(.connectionFailed)
            return
        }
        connection.lastUse = now
        while connection.hasRoom, let request = nextRequest() {
            do {
                try renewHeaders(of: request.job, token)
                try hand(request, token, to: connection)
            } catch {
                settings.logger.error("libcurl took no request", metadata: ["error": "\(error)"])
                request.job.record(
                    request.index, .unanswered(.init(.connectionFailed, mayHaveBeenDelivered: false)))
            }
        }
    }

    private func hand(
        _ request: LaneRequest, _ token: ProviderToken, to connection: LaneConnection
    ) throws(CurlError) {
        switch request.job.request.push {
        case .devices:
            try path.withPath(request.job.request.page, request.index) { (path) throws(CurlError) in
                try connection.hand(request, token, path: path)
            }
        case .broadcast(let broadcast):
            // Some bytes with a NUL, once a request: broadcasts are few.
            let path = Array(broadcast.path.utf8CString)
            try connection.hand(request, token, path: path)
        }
    }

    private func renewHeaders(of job: PageJob, _ token: ProviderToken) throws(CurlError) {
        guard job.headersToken != token else { return }
        job.headers = try Self.headers(job.request.push, token)
        job.headersToken = token
    }

    /// Repeats first, then the pages in turns.
    private func nextRequest() -> LaneRequest? {
        if let request = repeats.popLast() { return request }
        guard let job = queue.first else { return nil }
        let index = job.next
        job.next += 1
        if !job.hasUnsent {
            queue.removeFirst()
        } else if job.next.isMultiple(of: Self.turn), queue.count > 1 {
            queue.append(queue.removeFirst())
        }
        return LaneRequest(job: job, index: index, since: now)
    }

    private func openConnection() -> LaneConnection? {
        if let active { return active }
        guard now >= delay.notBefore else { return nil }
        do {
            let connection = try LaneConnection(settings.endpoint, maximumStreams: settings.maximumStreams)
            connection.lastUse = now
            active = connection
            return connection
        } catch {
            settings.logger.error("no connection could be prepared", metadata: ["error": "\(error)"])
            delay.failed(now: now, jitter: .random(in: 0...1))
            failAll(.connectionFailed)
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
            guard let (request, token) = connection.release(transfer) else { continue }
            switch RequestFate(result, isEstablished: connection.isEstablished) {
            case .answered(let status): answered(request, token, status, transfer, connection)
            case .unprocessed:
                noteRefusal(result, connection)
                sendAgain(request, orElse: .unanswered(.init(.timeout, mayHaveBeenDelivered: false)))
            case .unconnected(let cause):
                unconnected(request, cause, result, transfer, connection)
                continue
            case .unknown(let cause):
                request.job.record(request.index, .unanswered(.init(cause, mayHaveBeenDelivered: true)))
            }
            if RequestFate.retiresConnection(result) { retire(connection) }
        }
        return any
    }

    private func answered(
        _ request: LaneRequest, _ token: ProviderToken, _ status: Int, _ transfer: PreparedTransfer,
        _ connection: LaneConnection
    ) {
        let isLate = now - request.since > Int64(settings.endpoint.requestTimeoutMilliseconds / 4)
        connection.window.answered(isAuthenticated: status != 403, isLate: isLate)
        connection.fullSince = nil
        connection.lastUse = now
        connection.answers += 1
        if connection.answers == ReconnectDelay.provenAnswers { delay.proved() }
        guard status != 200 else { return request.job.accept() }
        let body = transfer.withAnswer(AnswerBody.init)
        let rejection = Rejection(
            status: status, reason: RejectionReason(wire: body.reason, status: status),
            timestamp: status == 410 ? body.timestamp : nil,
            retryAfter: transfer.header("retry-after").flatMap { Int($0) })
        switch rejection.verdict {
        case .renewProviderToken: renew(request, token, rejection)
        case .retryOnFreshConnection:
            request.job.record(request.index, .rejected(rejection))
            retire(connection)
        case .haltApp, .stopPush: condemn(request, rejection)
        default: request.job.record(request.index, .rejected(rejection))
        }
    }

    /// An answer that speaks of the credentials or of the push, not of this token: what the page has not sent yet would
    /// be answered alike, and gets the answer without being sent. A thousand wrong requests look like an attack.
    private func condemn(_ request: LaneRequest, _ rejection: Rejection) {
        request.job.record(request.index, .rejected(rejection))
        queue.removeAll { $0 === request.job }
        request.job.recordUnsent(.rejected(rejection))
    }

    private func renew(_ request: LaneRequest, _ token: ProviderToken, _ rejection: Rejection) {
        do {
            if !request.hasRenewed, try settings.tokens.renew(ifCurrent: token) != nil {
                var request = request
                request.hasRenewed = true
                return sendAgain(request, orElse: .rejected(rejection))
            }
        } catch {
            settings.logger.error("no provider token could be signed", metadata: ["error": "\(error)"])
        }
        condemn(request, rejection)
    }

    /// Queues a request that is safe to repeat; gives it up as `outcome` when it has been tried for two deadlines, or
    /// when the lane is closing.
    private func sendAgain(_ request: LaneRequest, orElse outcome: PushOutcome) {
        if isClosing {
            if case .rejected = outcome { return request.job.record(request.index, outcome) }
            let cancelled = PushOutcome.unanswered(.init(.cancelled, mayHaveBeenDelivered: false))
            return request.job.record(request.index, cancelled)
        }
        guard now - request.since < Int64(2 * settings.endpoint.requestTimeoutMilliseconds) else {
            return request.job.record(request.index, outcome)
        }
        repeats.append(request)
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
        _ request: LaneRequest, _ cause: NoAnswer.Cause, _ result: TransferResult, _ transfer: PreparedTransfer,
        _ connection: LaneConnection
    ) {
        let words = result.isHTTP2 ? connection.connection.words(on: transfer) : "the server does not speak HTTP/2"
        settings.logger.warning(
            "no connection to APNs",
            metadata: ["origin": "\(settings.endpoint.origin)", "cause": "\(cause.rawValue)", "error": "\(words)"])
        let outcome = PushOutcome.unanswered(.init(cause, mayHaveBeenDelivered: result.status != 0))
        request.job.record(request.index, outcome)
        retire(connection)
        failAll(cause)
    }

    private func failAll(_ cause: NoAnswer.Cause) {
        let outcome = PushOutcome.unanswered(.init(cause, mayHaveBeenDelivered: false))
        for item in repeats { item.job.record(item.index, outcome) }
        for job in queue { job.recordUnsent(outcome) }
        repeats = []
        queue = []
    }

    /// No more requests for this connection. It is dropped when its last one has ended.
    private func retire(_ connection: LaneConnection) {
        guard connection === active else { return }
        active = nil
        retired.append(connection)
        repeats.append(contentsOf: connection.takeBackUnsent())
        if connection.answers < ReconnectDelay.provenAnswers { delay.failed(now: now, jitter: .random(in: 0...1)) }
        settings.logger.debug(
            "connection retired", metadata: ["in_flight": "\(connection.connection.inFlight)"])
    }

    // MARK: Sleep

    /// Until a socket is ready, something is posted, or a timer is due.
    private func sleep() {
        let hasWork = !queue.isEmpty || !repeats.isEmpty
        var milliseconds: Int64 = 60_000
        if hasWork {
            // Waiting for a connection to be allowed, or for a full one to be given up.
            milliseconds = active == nil ? max(1, delay.notBefore - now) : Self.fullMilliseconds / 4
        }
        // libcurl's timers of the retired are not part of the active one's poll.
        if !retired.isEmpty { milliseconds = min(milliseconds, 20) }
        var others = [mailbox.event.descriptor]
        guard let polling = active ?? retired.first else {
            var descriptor = pollfd(fd: mailbox.event.descriptor, events: Int16(POLLIN), revents: 0)
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
