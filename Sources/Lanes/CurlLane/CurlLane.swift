internal import Curl
import Delivery
internal import Glibc
internal import LiveActivity
internal import Logging
internal import Threads

/// Headers and body that a page's transfers share, made for one credential.
struct CurlTemplate {
    let headers: HeaderList
    /// Nil if each request has a body of its own.
    private let shared: SharedBody?

    init?(_ push: PreparedPush, _ credential: PlatformCredential) {
        let fields = credential.fields(with: push)
        guard let headers = try? HeaderList(fields) else { return nil }
        self.headers = headers
        shared = if case .shared(let bytes) = push.body { SharedBody(bytes) } else { nil }
    }

    /// The body of a request.
    /// - Parameter own: nil if the push's body is shared
    func body(_ own: UnsafeBufferPointer<UInt8>?) -> SharedBody {
        guard let body = own.map({ SharedBody(Array($0)) }) ?? shared else {
            preconditionFailure("a body is shared or not")
        }
        return body
    }
}

typealias CurlRequest = LaneRequest<CurlTemplate>

/// A lane on libcurl's multi interface.
final class CurlLane: Lane {
    /// How often one wake-up goes over the connections. The limit lets the lane notice news under any load.
    static let passes = 4

    let settings: LaneSettings
    let handle: LaneHandle
    let requests: LaneRequests<CurlTemplate>
    var active: CurlConnection?
    var retired: [CurlConnection] = []
    var delay = ReconnectDelay()
    var shut = ShutConnections()
    private let endpoint: ServerAddress
    private let text = RequestText()

    static func body(_ settings: LaneSettings, _ handle: LaneHandle) -> @Sendable () -> Void {
        { CurlLane(settings, handle).run() }
    }

    init(_ settings: LaneSettings, _ handle: LaneHandle) {
        self.settings = settings
        self.handle = handle
        endpoint = ServerAddress(
            origin: settings.origin.text, caFile: settings.caFile,
            requestTimeoutMilliseconds: Int(settings.requestTimeout))
        requests = LaneRequests(settings, handle) { CurlTemplate($0, $1) }
    }

    // MARK: Requests out, answers in

    func work() -> Bool {
        if let active, active.inFlight == 0, active.use.wasIdle(now: now) { active.window.wasIdle() }
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
            hasMore = ended && !requests.isEmpty
        }
        retired.removeAll { $0.inFlight == 0 }
        active?.connection.uncork()
        for connection in retired { connection.connection.uncork() }
        return hasMore && now >= delay.notBefore
    }

    /// Hands over as many requests as the window allows.
    private func fill() {
        guard !requests.isClosing else { return }
        passShutConnection()
        guard !requests.isEmpty else { return }
        replaceFullConnection()
        guard let opened = openConnection(), opened.hasRoom else { return }
        guard refreshCredential() else { return requests.returnAll() }
        // The new credential may need another connection.
        guard let connection = openConnection() else { return }
        connection.use.key = requests.key
        while connection.hasRoom, let request = requests.next(capacity) {
            connection.use.lastRequest = now
            if connection.use.firstToken == nil { connection.use.firstToken = request.token }
            do {
                try connection.submit(request, text)
            } catch {
                settings.logger.error("libcurl refuses a request", metadata: ["error": "\(error)"])
                requests.unanswered(request, .connectionFailed, mayHaveBeenDelivered: false)
            }
        }
    }

    var capacity: PageQueue.Capacity {
        guard let active else { return PageQueue.Capacity(room: now >= delay.notBefore ? 1 : 0) }
        return PageQueue.Capacity(
            room: active.room, reserve: active.reserve, isConnected: active.use.answers > 0, pace: active.use.pace)
    }

    private func openConnection() -> CurlConnection? {
        if let active { return active }
        guard now >= delay.notBefore else { return nil }
        do {
            let connection = try CurlConnection(endpoint, maximumStreams: settings.maximumStreams, now: now)
            active = connection
            return connection
        } catch {
            unconnected(.connectionFailed, error.description)
            return nil
        }
    }

    /// Reads the transfers that have ended. False if there were none.
    private func drain(_ connection: CurlConnection) -> Bool {
        var any = false
        while let (transfer, result) = connection.connection.nextFinished() {
            any = true
            guard let request = connection.release(transfer) else { continue }
            switch RequestFate(result, isEstablished: connection.isEstablished) {
            case .answered(let status): answered(request, status, transfer, connection)
            case .unprocessed:
                noteRefusal(result, connection)
                requests.unprocessed(request)
            case .unconnected(let cause):
                unconnected(request, cause, result, transfer, connection)
                continue
            case .unknown(let cause):
                let isLate = cause == .timeout
                unanswered(request, cause, isLate: isLate, hasUnsentBody: result.hasUnsentBody, on: connection)
                if isLate { continue }
            }
            if RequestFate.retiresConnection(result) { retire(connection, .lost, "broken") }
        }
        return any
    }

    private func answered(
        _ request: CurlRequest, _ status: Int, _ transfer: PreparedTransfer, _ connection: CurlConnection
    ) {
        let isLate = now - request.since > settings.requestTimeout / 4
        connection.window.answered(
            status == 200 ? .accepted : LaneAnswer.isAboutCredentials(status) ? .unauthenticated : .rejected,
            isLate: isLate)
        settleAnswered(
            request, status, on: connection, fields: { transfer.fields.map { Exchange.Field($0.name, $0.value) } },
            rejection: {
                let retryAfter = retryAfter(transfer.header("retry-after").map { Array($0.utf8) })
                return transfer.withAnswer {
                    settings.platform.rejection(LaneAnswer(status: status, body: $0, retryAfter: retryAfter))
                }
            })
    }

    // MARK: Connections

    private func noteRefusal(_ result: TransferResult, _ connection: CurlConnection) {
        guard let streams = result.streamsAtRefusal, !result.wasDeclaredUnprocessed else { return }
        // With no stream in use the connection is not full, but gone.
        guard streams > 0 else { return retire(connection, .refused, "accepts no request") }
        connection.window.refused(streams: connection.connection.running)
        // Before the first answer the server may allow one stream, and that request may be to a silent phone.
        if connection.use.answers > 0 { connection.use.fullSince = connection.use.fullSince ?? now }
    }

    /// Handles a request whose connection could not be made.
    private func unconnected(
        _ request: CurlRequest, _ cause: NoAnswer.Cause, _ result: TransferResult, _ transfer: PreparedTransfer,
        _ connection: CurlConnection
    ) {
        let message = result.isHTTP2 ? connection.connection.message(on: transfer) : "the server does not speak HTTP/2"
        logNoConnection(cause, message)
        retire(connection, nil, "not made")
        requests.connectionFailed(cause)
        // Report this last: the sender may post a page at once, and `connectionFailed` must not fail that page too.
        requests.unanswered(request, cause, mayHaveBeenDelivered: result.status != 0)
    }

    // MARK: Sleep

    func leave() {}

    func sleep(hasWork: Bool) {
        if hasWork { return }
        var milliseconds: Int64 = 60_000
        if active == nil, now < delay.notBefore {
            milliseconds = delay.notBefore - now
        } else if requests.hasOwn || active?.use.fullSince != nil {
            // The lane waits here for a full connection to be replaced.
            milliseconds = ConnectionUse.fullMilliseconds / 4
        }
        if let active, active.isShut, active.use.answers == 0 || !requests.isEmpty {
            milliseconds = min(milliseconds, max(50, active.use.lastRequest + requests.wait - now))
        }
        if let next = nextOpen { milliseconds = min(milliseconds, max(0, next - now)) }
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
