internal import APNsWire
internal import LiveActivity
internal import Logging
internal import NGHTTP2
internal import OpenSSL
internal import Threads

/// One thread with one connection and all its streams, on an epoll of its own. `LaneInbox` has the requests that wait.
/// At each wake-up the lane reads all bytes that have come and reports the outcomes to `LaneInbox`. Then it fills the
/// free streams and writes the new requests together. The lane is made and runs inside its thread, and no part of it
/// leaves that thread.
///
/// Connections: `attempt` makes one, and `active` takes requests. If `active` goes silent or is told to go away, it
/// moves to `retired`. It keeps its requests there until their answers or deadlines, and is then dropped. If a
/// connection breaks, its requests in flight end with it. The next request makes a new connection.
final class NGHTTP2Lane {
    /// A connection that was idle for longer begins again with one request, because it may have died without notice.
    static let restMilliseconds: Int64 = 60_000
    /// A connection is replaced if it lets no request begin for this long, while requests wait and none is in flight.
    static let fullMilliseconds: Int64 = 2_000
    private static let longestSleep: Int64 = 60_000

    private let settings: LaneSettings
    private let handle: LaneHandle
    private let poll: EventPoll
    private let inbox: LaneInbox<RequestTemplate>
    private let origin: Origin
    private let timeout: Int64
    private let path = DevicePath()
    /// A look-up that outlived its attempt. The next attempt uses it too.
    private var lookup: AddressLookup?
    private var attempt: ConnectionAttempt?
    private var active: NGHTTP2Connection?
    private var retired: [NGHTTP2Connection] = []
    private var delay = ReconnectDelay()
    /// Since when requests wait for a connection that has nothing in flight.
    private var fullSince: Int64?
    private var now: Int64 = 0

    /// - Parameter poll: already watches the handle's descriptor
    init(_ settings: LaneSettings, _ handle: LaneHandle, _ poll: EventPoll) {
        self.settings = settings
        self.handle = handle
        self.poll = poll
        let origin = Origin(settings.origin)
        self.origin = origin
        timeout = settings.requestTimeout
        inbox = LaneInbox(settings, handle) { push, token in
            RequestTemplate(
                authority: origin.authority,
                fields: [(name: "authorization", value: "bearer \(token.jwt)")] + push.fields,
                body: push.payload)
        }
    }

    /// Blocks until the transport is closing and nothing is in flight.
    func run() {
        while true {
            now = monotonicMilliseconds()
            inbox.now = now
            inbox.look()
            let hasMore = work()
            if inbox.isClosing, active?.inFlight ?? 0 == 0, retired.isEmpty, !inbox.hasOwn { break }
            sleep(!hasMore && handle.rest(capacity) ? untilNextTimer() : 0)
        }
        attempt = nil
        active?.leave(now: now)
        active = nil
        poll.remove(handle.descriptor)
        handle.end()
    }

    /// Does the work of one wake-up: reads, fills and writes.
    /// - Returns: true when there is more to read at once
    private func work() -> Bool {
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

    /// Reads a connection and reports its outcomes.
    /// - Returns: true when there is more to read at once
    private func read(_ connection: NGHTTP2Connection) -> Bool {
        do throws(ConnectionEnd) {
            if connection.isReadable {
                connection.isReadable = try connection.read(now: now)
                drain(connection)
            }
            try keepAlive(connection)
            return connection.isReadable
        } catch {
            lose(connection, error.words)
            return false
        }
    }

    /// Reports the ended streams to `LaneInbox`.
    private func drain(_ connection: NGHTTP2Connection) {
        while let ended = connection.session.nextEnded() {
            defer { connection.session.release(ended.slot) }
            guard let request = connection.takeRequest(ended.slot) else { continue }
            switch RequestFate(ended) {
            case .answered(let status): answered(request, ended, status, connection)
            case .unprocessed: unprocessed(request, connection)
            case .unconnected(let cause), .unknown(let cause):
                if ended.end == .late, connection.session.hasUnsentBody(ended.slot) { tellOfWindow(connection) }
                inbox.unanswered(request, cause, mayHaveBeenDelivered: true)
                // Retire the connection only if it is silent: one late answer among others is not its fault.
                if ended.end == .late, now - connection.lastAnswer >= timeout / 2 { leaveSilent(connection) }
            }
        }
        if let goaway = connection.session.goaway, connection === active {
            retire(connection, "GOAWAY \(goaway.errorCode) \(goaway.text)")
        }
    }

    private func answered(
        _ request: HTTP2Request, _ ended: EndedStream, _ status: Int, _ connection: NGHTTP2Connection
    ) {
        connection.answered(
            request, isAuthenticated: status != 403, isLate: now - ended.startedAt > timeout / 4, now: now)
        if connection.answers == ReconnectDelay.provenAnswers { delay.proved() }
        guard status != 200 else { return request.part.accept() }
        let rejection = Rejection(
            status: status, body: connection.session.withAnswer(ended.slot, ResponseBody.init),
            retryAfter: connection.session.retryAfter(ended.slot))
        settings.logger.debug(
            "rejected",
            metadata: [
                "reason": "\(rejection.reason.wire)", "apns_id": "\(connection.session.apnsID(ended.slot) ?? "")",
            ])
        if inbox.rejected(request, rejection) { retire(connection, rejection.reason.wire) }
    }

    private func tellOfWindow(_ connection: NGHTTP2Connection) {
        guard !connection.hasToldOfWindow else { return }
        connection.hasToldOfWindow = true
        settings.tellOfClosedWindow(inFlight: connection.inFlight)
    }

    private func unprocessed(_ request: HTTP2Request, _ connection: NGHTTP2Connection) {
        // Before the connection is left: where none is of use, all that waits is given back, this request too.
        inbox.unprocessed(request)
        if connection === active, connection.session.goaway == nil, !connection.refused() {
            retire(connection, "refuses every stream")
        }
    }

    /// Ends late requests and sends PINGs.
    private func keepAlive(_ connection: NGHTTP2Connection) throws(ConnectionEnd) {
        do throws(NGHTTP2Error) {
            try connection.endLate(now: now)
            drain(connection)
            switch connection.liveness.action(now: now, isWaiting: connection.inFlight > 0) {
            case .ping: try connection.session.ping()
            case .retire: leaveSilent(connection)
            case nil: break
            }
        } catch {
            throw ConnectionEnd(words: error.description)
        }
        if let since = connection.blockedSince, now - since >= timeout {
            throw ConnectionEnd(words: "nothing can be written")
        }
    }

    // MARK: Requests out

    /// Hands over as many requests as the connection allows.
    /// - Returns: true when the connection's output is full; more can be handed over once that is written
    private func fill() -> Bool {
        guard !inbox.isClosing, !inbox.isEmpty else {
            fullSince = nil
            return false
        }
        replaceFullConnection()
        guard let connection = active else {
            beginAttempt()
            return false
        }
        let isRested =
            now - max(connection.lastUse, connection.lastAnswer) > Self.restMilliseconds && connection.inFlight == 0
        connection.beginTurn(now: now, isRested: isRested)
        let room = connection.room
        guard room > 0 else { return false }
        guard inbox.refreshToken() else {
            inbox.failAll()
            return false
        }
        connection.lastUse = now
        let before = connection.inFlight
        defer { connection.endTurn(connection.inFlight - before) }
        for _ in 0..<room {
            guard let request = inbox.next(connection.capacity(begun: connection.inFlight - before, now: now)) else {
                return false
            }
            do throws(NGHTTP2Error) {
                guard try !connection.hand(request, path, now: now) else { continue }
                inbox.putBack(request)
                return connection.session.hasOutput
            } catch {
                inbox.putBack(request)
                lose(connection, error.description)
                return false
            }
        }
        return false
    }

    private var capacity: PageQueue.Capacity {
        active?.capacity(begun: 0, now: now)
            ?? PageQueue.Capacity(room: attempt == nil && now >= delay.notBefore ? 1 : 0)
    }

    private func write(_ connection: NGHTTP2Connection) {
        do throws(ConnectionEnd) {
            try connection.flush(now: now)
        } catch {
            lose(connection, error.words)
        }
    }

    /// Replaces a connection whose server allows no stream at all.
    private func replaceFullConnection() {
        guard let active, active.inFlight == 0, active.room <= 0 else {
            fullSince = nil
            return
        }
        guard let since = fullSince else {
            fullSince = now
            return
        }
        if now - since > Self.fullMilliseconds { retire(active, "takes no requests") }
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
        case .failed(let cause, let words): failed(cause, words)
        case .ready(let wire):
            self.attempt = nil
            do {
                active = try NGHTTP2Connection(
                    wire, poll, maximumStreams: settings.maximumStreams, timeout: timeout, now: now)
            } catch {
                poll.remove(wire.socket.descriptor)
                failed(.connectionFailed, error.description)
            }
        }
    }

    /// Handles an attempt that made no connection.
    private func failed(_ cause: NoAnswer.Cause, _ words: String) {
        attempt = nil
        settings.logger.warning(
            "no connection to APNs",
            metadata: ["origin": "\(settings.origin)", "cause": "\(cause.rawValue)", "error": "\(words)"])
        delay.failed(now: now, jitter: .random(in: 0...1))
        inbox.connectionFailed(cause)
    }

    /// Gives this connection no more requests. It is dropped when its last one has ended.
    private func retire(_ connection: NGHTTP2Connection, _ why: String) {
        guard connection === active else { return }
        active = nil
        retired.append(connection)
        replaced(connection, why)
    }

    /// Retires a silent connection. If its server has never answered, the lane counts it as unreachable.
    private func leaveSilent(_ connection: NGHTTP2Connection) {
        guard connection === active else { return }
        retire(connection, "silent")
        if connection.answers == 0 { inbox.connectionFailed(.timeout) }
    }

    /// Drops a connection that has ended. Its requests in flight are lost or were never sent.
    private func lose(_ connection: NGHTTP2Connection, _ why: String) {
        let wasActive = connection === active
        if wasActive { active = nil }
        retired.removeAll { $0 === connection }
        connection.session.endAll()
        drain(connection)
        if wasActive { replaced(connection, why) }
    }

    private func replaced(_ connection: NGHTTP2Connection, _ why: String) {
        fullSince = nil
        if connection.answers < ReconnectDelay.provenAnswers { delay.failed(now: now, jitter: .random(in: 0...1)) }
        settings.logger.debug(
            "connection retired",
            metadata: ["why": "\(why)", "answers": "\(connection.answers)", "in_flight": "\(connection.inFlight)"])
        guard connection.answers == 0, delay.isHopeless else { return }
        settings.tellOfRefusal(failures: delay.failures)
        inbox.connectionFailed(.connectionFailed)
    }

    private func dropRetired() {
        guard !retired.isEmpty else { return }
        for connection in retired where connection.inFlight == 0 { connection.leave(now: now) }
        retired.removeAll { $0.inFlight == 0 }
    }

    // MARK: Sleep

    /// Sleeps until a socket is ready, another thread signals the lane, or `milliseconds` have passed.
    private func sleep(_ milliseconds: Int64) {
        poll.wait(milliseconds: Int32(clamping: milliseconds)) { descriptor in
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
        } else if !inbox.isEmpty {
            due = min(due, now + Self.fullMilliseconds / 4)
        }
        // `PageQueue` relies on this timer: it wakes no other lane for requests that this one will take later.
        if capacity.held > 0, let active { due = min(due, active.pacing.next) }
        return max(0, due - now)
    }

    private func nextTimer(of connection: NGHTTP2Connection) -> Int64 {
        var due = connection.liveness.next(isWaiting: connection.inFlight > 0)
        if let deadline = connection.nextDeadline { due = min(due, deadline) }
        if let blocked = connection.blockedSince { due = min(due, blocked + timeout) }
        return due
    }
}
