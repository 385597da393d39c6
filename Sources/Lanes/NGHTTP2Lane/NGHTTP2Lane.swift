import Delivery
internal import LiveActivity
internal import Logging
internal import NGHTTP2
internal import OpenSSL
internal import Threads

/// A lane on nghttp2 and OpenSSL, with an epoll of its own. At each wake-up the lane reads all bytes that have come and
/// reports outcomes to `LaneRequests`. Then it fills the free streams and writes the new requests together. `attempt`
/// makes a connection. If a connection breaks, its requests in flight end with it.
final class NGHTTP2Lane: Lane {
    private static let longestSleep: Int64 = 60_000

    let settings: LaneSettings
    let handle: LaneHandle
    let requests: LaneRequests<SharedRequest>
    var active: NGHTTP2Connection?
    var retired: [NGHTTP2Connection] = []
    var delay = ReconnectDelay()
    var shut = ShutConnections()
    private let poll: EventPoll
    private let origin: Origin
    private let timeout: Int64
    private let text = RequestText()
    /// A look-up that outlived its attempt. The next attempt uses it too.
    private var lookup: AddressLookup?
    private var attempt: ConnectionAttempt?

    static func body(_ settings: LaneSettings, _ handle: LaneHandle) throws(LaneError) -> @Sendable () -> Void {
        guard let poll = EventPoll(), poll.add(handle.descriptor, .read) else {
            throw LaneError("no descriptor for a lane's epoll")
        }
        return { NGHTTP2Lane(settings, handle, poll).run() }
    }

    /// - Parameter poll: already watches the handle's descriptor
    init(_ settings: LaneSettings, _ handle: LaneHandle, _ poll: EventPoll) {
        self.settings = settings
        self.handle = handle
        self.poll = poll
        origin = settings.origin
        timeout = settings.requestTimeout
        requests = LaneRequests(settings, handle) { push, credential in
            let fields = credential.fields(with: push)
            let body: [UInt8]? = if case .shared(let bytes) = push.body { bytes } else { nil }
            return SharedRequest(
                authority: settings.origin.authority, fields: fields, body: body, isTraced: push.trace != nil)
        }
    }

    func leave() {
        attempt = nil
        active?.leave(now: now)
        poll.remove(handle.descriptor)
    }

    func work() -> Bool {
        var hasMore = false
        for connection in retired { hasMore = read(connection) || hasMore }
        if let active { hasMore = read(active) || hasMore }
        advanceAttempt()
        var isFull: Bool
        repeat {
            isFull = fill()
            if let active { write(active) }
        } while isFull && active?.isBlocked == false
        for connection in retired { write(connection) }
        active?.uncork()
        for connection in retired { connection.uncork() }
        dropRetired()
        return hasMore
    }

    // MARK: Answers in

    /// Reads a connection and reports its outcomes. True when there is more to read at once.
    private func read(_ connection: NGHTTP2Connection) -> Bool {
        do throws(ConnectionEnd) {
            if connection.isReadable {
                connection.isReadable = try connection.read(now: now)
                drain(connection)
            }
            try keepAlive(connection)
            return connection.isReadable
        } catch {
            lose(connection, error.message)
            return false
        }
    }

    /// Reports the ended streams to `LaneRequests`.
    private func drain(_ connection: NGHTTP2Connection) {
        while let ended = connection.session.nextEnded() {
            defer { connection.session.release(ended.slot) }
            guard let request = connection.takeRequest(ended.slot) else { continue }
            switch RequestFate(ended) {
            case .answered(let status): answered(request, ended, status, connection)
            case .unprocessed: unprocessed(request, connection)
            case .unconnected(let cause), .unknown(let cause):
                let hasUnsentBody = connection.session.hasUnsentBody(ended.slot)
                unanswered(request, cause, isLate: ended.end == .late, hasUnsentBody: hasUnsentBody, on: connection)
            }
        }
        if let goaway = connection.session.goaway {
            connection.use.isAside = false
            retire(connection, .goaway, "GOAWAY \(goaway.errorCode) \(goaway.text)")
        }
    }

    private func answered(
        _ request: HTTP2Request, _ ended: EndedStream, _ status: Int, _ connection: NGHTTP2Connection
    ) {
        connection.answered(
            isAuthenticated: !LaneAnswer.isAboutCredentials(status), isLate: now - ended.startedAt > timeout / 4)
        let session = connection.session
        settleAnswered(
            request, status, on: connection,
            fields: { session.fields(ended.slot).map { Exchange.Field($0.name, $0.value) } },
            rejection: { rejection(status, ended.slot, session) })
    }

    private func rejection(_ status: Int, _ slot: Int, _ session: ClientSession) -> Rejection {
        let retryAfter = retryAfter(session.retryAfter(slot))
        let rejection = session.withAnswer(slot) {
            settings.platform.rejection(LaneAnswer(status: status, body: $0, retryAfter: retryAfter))
        }
        settings.logger.debug("rejected", metadata: ["reason": "\(rejection.reason)"])
        return rejection
    }

    private func unprocessed(_ request: HTTP2Request, _ connection: NGHTTP2Connection) {
        // Queue the request first: `retire` may return all waiting requests to their senders, including this one.
        requests.unprocessed(request)
        if connection === active, connection.session.goaway == nil, !connection.refused() {
            retire(connection, .refused, "refuses every stream")
        }
    }

    /// Ends late requests and sends PINGs.
    private func keepAlive(_ connection: NGHTTP2Connection) throws(ConnectionEnd) {
        do throws(NGHTTP2Error) {
            try connection.endLate(now: now)
            drain(connection)
            switch connection.liveness.action(now: now, isWaiting: connection.inFlight > 0) {
            case .ping: try connection.session.ping()
            case .retire: retireSilent(connection, isUnreachable: true)
            case nil: break
            }
        } catch {
            throw ConnectionEnd(message: error.description)
        }
        if let since = connection.blockedSince, now - since >= timeout {
            throw ConnectionEnd(message: "nothing can be written")
        }
    }

    // MARK: Requests out

    /// Hands over what the connection allows. True when its output is full: more can follow once that is written.
    private func fill() -> Bool {
        if !requests.isClosing { passShutConnection() }
        guard !requests.isClosing, !requests.isEmpty else {
            active?.use.fullSince = nil
            return false
        }
        if let active {
            let isFull = active.inFlight == 0 && active.room == 0
            active.use.fullSince = isFull ? active.use.fullSince ?? now : nil
        }
        replaceFullConnection()
        if active != nil, !refreshCredential() {
            requests.returnAll()
            return false
        }
        guard let connection = active else {
            beginAttempt()
            return false
        }
        connection.beginTurn(now: now, wasIdle: connection.inFlight == 0 && connection.use.wasIdle(now: now))
        let room = connection.room
        guard room > 0 else { return false }
        let before = connection.inFlight
        defer {
            let begun = connection.inFlight - before
            connection.spread.began(begun)
            if begun > 0 { connection.use.lastRequest = now }
        }
        for _ in 0..<room {
            guard let request = requests.next(connection.capacity(begun: connection.inFlight - before, now: now)) else {
                return false
            }
            if connection.use.firstToken == nil { connection.use.firstToken = request.token }
            do throws(NGHTTP2Error) {
                guard try !connection.submit(request, text, now: now) else { continue }
                requests.putBack(request)
                return connection.session.hasOutput
            } catch {
                requests.putBack(request)
                lose(connection, error.description)
                return false
            }
        }
        return false
    }

    var capacity: PageQueue.Capacity {
        active?.capacity(begun: 0, now: now)
            ?? PageQueue.Capacity(room: attempt == nil && now >= delay.notBefore ? 1 : 0)
    }

    private func write(_ connection: NGHTTP2Connection) {
        do throws(ConnectionEnd) {
            try connection.flush(now: now)
        } catch {
            lose(connection, error.message)
        }
    }

    // MARK: Connections

    private func beginAttempt() {
        guard attempt == nil, now >= delay.notBefore else { return }
        let lookup = lookup ?? AddressLookup(host: origin.host, port: origin.port) { [handle] in handle.call() }
        self.lookup = lookup
        attempt = ConnectionAttempt(
            origin, caFile: settings.caFile, lookup: lookup, poll: poll, timeout: timeout, now: now)
        advanceAttempt()
    }

    private func advanceAttempt() {
        guard let attempt else { return }
        let step = attempt.advance(now: now)
        // Each connection looks the name up again.
        if lookup?.result != nil { lookup = nil }
        switch step {
        case .waiting: return
        case .failed(let cause, let message):
            self.attempt = nil
            unconnected(cause, message)
        case .ready(let wire):
            self.attempt = nil
            guard active == nil else {
                // A connection that stood aside had an answer meanwhile.
                poll.remove(wire.socket.descriptor)
                return
            }
            do {
                active = try NGHTTP2Connection(
                    wire, poll, maximumStreams: settings.maximumStreams, timeout: timeout, now: now)
            } catch {
                poll.remove(wire.socket.descriptor)
                unconnected(.connectionFailed, error.description)
            }
        }
    }

    /// Drops a connection that has ended. Its requests in flight are lost or were never sent.
    private func lose(_ connection: NGHTTP2Connection, _ why: String) {
        let wasActive = connection === active
        if wasActive { active = nil }
        retired.removeAll { $0 === connection }
        connection.session.endAll()
        drain(connection)
        if wasActive { replaced(connection, .lost, why) }
    }

    private func dropRetired() {
        guard !retired.isEmpty else { return }
        for connection in retired where connection.inFlight == 0 { connection.leave(now: now) }
        retired.removeAll { $0.inFlight == 0 }
    }

    // MARK: Sleep

    func sleep(hasWork: Bool) {
        poll.wait(milliseconds: hasWork ? 0 : Int32(clamping: untilNextTimer())) { descriptor in
            if let active, active.descriptor == descriptor { active.isReadable = true }
            for connection in retired where connection.descriptor == descriptor { connection.isReadable = true }
        }
    }

    private func untilNextTimer() -> Int64 {
        var due = now + Self.longestSleep
        if let active { due = min(due, nextTimer(of: active)) }
        for connection in retired { due = min(due, nextTimer(of: connection)) }
        if let attempt {
            due = min(due, attempt.nextDeadline)
        } else if active == nil {
            // Without a connection the lane sleeps until it may make one, or until there is work for one.
            if now < delay.notBefore { due = min(due, delay.notBefore) }
        } else if !requests.isEmpty {
            due = min(due, now + ConnectionUse.fullMilliseconds / 4)
        }
        if let active, active.isShut, active.use.lastRequest + requests.wait > now {
            due = min(due, active.use.lastRequest + requests.wait)
        }
        if let next = nextOpen { due = min(due, next) }
        // `PageQueue` relies on this timer: it wakes no other lane for requests that this one will take later.
        if capacity.roomLater > 0, let active { due = min(due, active.spread.next) }
        return max(0, due - now)
    }

    private func nextTimer(of connection: NGHTTP2Connection) -> Int64 {
        var due = connection.liveness.next(isWaiting: connection.inFlight > 0)
        if let deadline = connection.nextDeadline { due = min(due, deadline) }
        if let blocked = connection.blockedSince { due = min(due, blocked + timeout) }
        return due
    }
}
