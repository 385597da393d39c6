internal import LiveActivity
internal import NGHTTP2
internal import OpenSSL
internal import Threads

typealias HTTP2Request = LaneRequest<SharedRequest>

/// One connection of an `NGHTTP2Lane`: TLS, HTTP/2 and the requests of its streams. It belongs to the lane's thread.
final class NGHTTP2Connection: LaneConnection {
    /// Bytes for one read, and reads before requests have their turn.
    private static let readBytes = 16 << 10
    private static let readsPerTurn = 64
    /// The most bytes of a TLS record.
    private static let record = 16 << 10

    let session: ClientSession
    private let wire: TLSWire
    private let poll: EventPoll
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: NGHTTP2Connection.readBytes, alignment: 16)
    /// The request of each slot. Nil: the slot is free. An array would check for exclusive access with each request and
    /// answer.
    private let requests: UnsafeMutableBufferPointer<HTTP2Request?>
    /// Milliseconds that a request may take.
    private let timeout: Int64

    private(set) var window: NGHTTP2Window
    var spread = RequestSpread()
    var liveness: Liveness
    var use: ConnectionUse
    /// No request in flight has an earlier deadline than this; nil when none is in flight.
    private(set) var nextDeadline: Int64?
    /// There may be bytes to read without waiting for the socket.
    var isReadable = true
    /// Since when the socket accepts none of the waiting output; nil while it does.
    private(set) var blockedSince: Int64?
    /// The socket holds output back, so that it leaves in few large segments.
    private var isCorked = false

    /// - Parameter wire: its descriptor is already in `poll`, for reading
    init(_ wire: TLSWire, _ poll: EventPoll, maximumStreams: Int, timeout: Int64, now: Int64) throws(NGHTTP2Error) {
        session = try ClientSession(capacity: maximumStreams)
        self.wire = wire
        self.poll = poll
        self.timeout = timeout
        requests = .allocate(capacity: maximumStreams)
        requests.initialize(repeating: nil)
        window = NGHTTP2Window(maximum: maximumStreams)
        liveness = Liveness(timeout: timeout, now: now)
        use = ConnectionUse(now: now)
    }

    deinit {
        poll.remove(wire.socket.descriptor)
        buffer.deallocate()
        requests.deinitialize()
        requests.deallocate()
    }

    var descriptor: Int32 { wire.socket.descriptor }
    var inFlight: Int { session.inFlight }
    /// How many requests may begin now.
    var room: Int { max(0, streams - session.inFlight) }
    /// How many requests may be in flight.
    var streams: Int { window.size(serverLimit: session.serverLimit) }
    var isBlocked: Bool { blockedSince != nil }
    var holdsRequestsBack: Bool { isBlocked }

    func heardNothing(now: Int64, timeout: Int64) -> Bool? { now - liveness.lastHeard >= timeout / 2 }

    func isAlive(since time: Int64, now: Int64) -> Bool {
        if liveness.lastHeard >= time { return true }
        // If the PING cannot be sent, the connection is about to end for that reason.
        if liveness.asks(now: now) { try? session.ping() }
        return false
    }

    func widen() -> Bool { window.widen(serverLimit: session.serverLimit) }

    /// The capacity of this connection for `PageQueue`. `begun`: requests of this turn, which spread does not know yet.
    func capacity(begun: Int, now: Int64) -> PageQueue.Capacity {
        let room = room
        return PageQueue.Capacity(
            room: room, reserve: reserve,
            roomLater: min(room, spread.later(of: room + begun, now: now)), isConnected: use.answers > 0,
            pace: use.pace)
    }

    func answered(isAuthenticated: Bool, isLate: Bool) {
        window.answered(isAuthenticated: isAuthenticated, isLate: isLate, serverLimit: session.serverLimit)
    }

    /// Notes that the server refused a stream. False if the connection is of no use.
    func refused() -> Bool { window.refused(serverLimit: session.serverLimit) }

    // MARK: Requests

    /// Begins a turn, before requests are handed over. A connection that `wasIdle` for long begins with one request.
    func beginTurn(now: Int64, wasIdle: Bool) {
        if wasIdle { window.wasIdle() }
        spread.turn(now: now, streams: streams, pace: use.pace)
    }

    /// Hands over a request. False when the connection accepts none now.
    /// - Throws: an error that ends the connection
    func submit(_ request: HTTP2Request, _ text: RequestText, now: Int64) throws(NGHTTP2Error) -> Bool {
        if session.inFlight == 0 { liveness.began(now: now) }
        let slot = try text.withBytes(of: request) { (path, body) throws(NGHTTP2Error) in
            try session.submit(request.part.template, path: path, body: body, now: now)
        }
        guard let slot else { return false }
        requests[slot] = request
        if nextDeadline == nil { nextDeadline = now + timeout }
        return true
    }

    /// None: a submitted request is sent at once.
    func takeBackUnsent() -> [HTTP2Request] { [] }

    /// The request of a stream that has ended. It is not in flight any more. The session's `release` frees its slot.
    func takeRequest(_ slot: Int) -> HTTP2Request? { requests[slot].take() }

    /// Ends requests that have taken too long.
    func endLate(now: Int64) throws(NGHTTP2Error) {
        guard let deadline = nextDeadline, now >= deadline else { return }
        nextDeadline = try session.endLate(startedBy: now - timeout).map { $0 + timeout }
        // Late requests stay in flight until the socket accepts their resets, so look again soon.
        if nextDeadline == nil, session.inFlight > 0 { nextDeadline = now + max(1, timeout / 4) }
    }

    // MARK: Bytes

    /// Reads the bytes that have come. True when there may be more to read at once.
    func read(now: Int64) throws(ConnectionEnd) -> Bool {
        for _ in 0..<Self.readsPerTurn {
            switch try ended({ () throws(TLSError) in try wire.connection.read(into: buffer) }) {
            case .wantsRead, .wantsWrite: return false
            case .done(let count):
                liveness.heard(now: now)
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                try ended { () throws(NGHTTP2Error) in try session.receive(bytes) }
                if !wire.connection.hasBuffered { return false }
            }
        }
        return true
    }

    /// Writes the waiting output, as far as the socket accepts it. Throws also when both sides finished the session.
    func flush(now: Int64) throws(ConnectionEnd) {
        try writeOutput(now: now)
        if session.isFinished { throw ConnectionEnd(message: "both sides are done") }
    }

    /// Lets output leave that was held back. The lane calls this at the end of each wake-up.
    func uncork() {
        guard isCorked else { return }
        isCorked = false
        wire.socket.cork(false)
    }

    private func writeOutput(now: Int64) throws(ConnectionEnd) {
        if session.outputBytes > 2 * Self.record, !isCorked {
            isCorked = true
            wire.socket.cork(true)
        }
        var isBlocked = false
        var hasWritten = false
        while session.hasOutput, !isBlocked {
            try ended { () throws(TLSError) in
                try session.withOutput { (bytes) throws(TLSError) in
                    switch try wire.connection.write(bytes) {
                    case .done(let count):
                        hasWritten = true
                        return count
                    case .wantsRead, .wantsWrite:
                        isBlocked = true
                        return 0
                    }
                }
            }
            // Encode requests that found no room in the output before.
            try ended { () throws(NGHTTP2Error) in try session.encode() }
        }
        if isBlocked != (blockedSince != nil) { poll.change(descriptor, isBlocked ? [.read, .write] : .read) }
        // A server that accepts a little at a time is slow, not silent.
        blockedSince = !isBlocked ? nil : hasWritten ? now : blockedSince ?? now
    }

    /// Sends GOAWAY and close_notify, if the socket accepts them now.
    func leave(now: Int64) {
        do {
            try session.leave()
            try writeOutput(now: now)
            wire.connection.close()
        } catch {
            // The connection ends anyway.
        }
    }

    private func ended<Value, Failure: Error & CustomStringConvertible>(
        _ body: () throws(Failure) -> Value
    ) throws(ConnectionEnd) -> Value {
        do {
            return try body()
        } catch {
            throw ConnectionEnd(message: error.description)
        }
    }
}

/// The connection is over, and its requests in flight are lost.
struct ConnectionEnd: Error {
    let message: String
}

/// A TCP socket with TLS on it, for one connection. It belongs to the lane's thread. Order of destruction: first TLS,
/// which points to the socket, then the socket. Stop polling the descriptor before.
final class TLSWire {
    private var tls: TLSConnection?
    let socket: TCPSocket

    init(_ socket: TCPSocket, _ server: TLSServer) throws(TLSError) {
        self.socket = socket
        tls = try TLSConnection(server, descriptor: socket.descriptor)
    }

    deinit { tls = nil }

    var connection: TLSConnection {
        guard let tls else { preconditionFailure("TLS ends with its wire") }
        return tls
    }
}
