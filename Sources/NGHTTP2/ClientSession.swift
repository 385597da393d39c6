internal import CNGHTTP2
internal import Glibc

/// The client's side of one HTTP/2 connection: bytes in, bytes out, no socket and no clock. Requests are POSTs made
/// from a template and a path. A request with the body of its template allocates no memory except in nghttp2. HPACK is
/// nghttp2's: it sends repeated fields as one byte from the dynamic table. It puts neither `authorization` nor the
/// path there. The session belongs to the thread that made it. Order of destruction: first nghttp2's session, which
/// points into the templates and has `state` as its user data, then `state`.
public final class ClientSession {
    /// No request begins while the output has more bytes than this, until the server has taken some.
    public static let outputLimit = 64 << 10
    /// How many bytes of answers the server may send before we have read them: an error page to each request in flight.
    /// One stream has HTTP/2's usual 65,535.
    private static let receiveWindow: Int32 = 16 << 20

    private let session: OpaquePointer
    private let state: UnsafeMutablePointer<SessionState>
    private let thread = pthread_self()

    /// - Parameter capacity: the most requests in flight at once, whatever the server allows
    public init(capacity: Int) throws(NGHTTP2Error) {
        state = .allocate(capacity: 1)
        state.initialize(to: SessionState(capacity: capacity))
        do {
            session = try Self.makeSession(state)
        } catch {
            Self.free(state)
            throw error
        }
    }

    deinit {
        state.pointee.isEnding = true
        nghttp2_session_del(session)
        Self.free(state)
    }

    private static func free(_ state: UnsafeMutablePointer<SessionState>) {
        state.pointee.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    private static func makeSession(_ state: UnsafeMutablePointer<SessionState>) throws(NGHTTP2Error) -> OpaquePointer {
        var callbacks: OpaquePointer?
        var code = nghttp2_session_callbacks_new(&callbacks)
        guard code == 0, let callbacks else { throw NGHTTP2Error("session_callbacks_new", code) }
        defer { nghttp2_session_callbacks_del(callbacks) }
        setCallbacks(callbacks)
        var option: OpaquePointer?
        code = nghttp2_option_new(&option)
        guard code == 0, let option else { throw NGHTTP2Error("option_new", code) }
        defer { nghttp2_option_del(option) }
        // The limit until the server sends its own; APNs sends 1.
        nghttp2_option_set_peer_max_concurrent_streams(option, 1)
        var session: OpaquePointer?
        code = nghttp2_session_client_new2(&session, callbacks, state, option)
        guard code == 0, let session else { throw NGHTTP2Error("session_client_new", code) }
        do throws(NGHTTP2Error) {
            let settings = [
                nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
            ]
            let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
            code = nghttp2_submit_settings(session, flags, settings, settings.count)
            guard code == 0 else { throw NGHTTP2Error("submit_settings", code) }
            code = nghttp2_session_set_local_window_size(session, flags, 0, receiveWindow)
            guard code == 0 else { throw NGHTTP2Error("session_set_local_window_size", code) }
        } catch {
            nghttp2_session_del(session)
            throw error
        }
        return session
    }

    // MARK: State

    /// Requests with an open stream.
    public var inFlight: Int { state.pointee.inFlight }
    /// The newest SETTINGS_MAX_CONCURRENT_STREAMS of the server; 1 before the first.
    public var serverLimit: Int {
        Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }
    /// The server's newest GOAWAY.
    public var goaway: Goaway? { state.pointee.goaway }
    /// Answers to our PINGs.
    public var pongs: Int { state.pointee.pongs }
    /// Both sides have finished, and nothing is left to read or write.
    public var isFinished: Bool {
        nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
            && state.pointee.output.count == 0
    }

    // MARK: Requests

    /// Begins a request. `now` comes back with its end.
    /// - Parameter body: the request's own body, if the template has none
    /// - Returns: its slot; nil if no stream can be opened now: all slots or the server's streams are in use, the
    ///   output is full, or the connection accepts no more
    public func submit(
        _ template: SharedRequest, path: UnsafeBufferPointer<UInt8>,
        body own: UnsafeBufferPointer<UInt8>? = nil, now: Int64
    ) throws(NGHTTP2Error) -> Int? {
        guard !state.pointee.isEnding, state.pointee.freeCount > 0, state.pointee.output.count < Self.outputLimit,
            state.pointee.inFlight < serverLimit, nghttp2_session_check_request_allowed(session) != 0
        else { return nil }
        let slot = Int(state.pointee.free[state.pointee.freeCount - 1])
        let stream = state.pointee.streams + slot
        // nghttp2 copies the path and the array. It points to the other fields' bytes until the frame is encoded, and
        // reads the body until the stream ends. The template and the stream keep these until then.
        template.path.pointee.value = UnsafeMutablePointer(mutating: path.baseAddress)
        template.path.pointee.valuelen = path.count
        var body = nghttp2_data_provider()
        body.source.ptr = UnsafeMutableRawPointer(stream)
        body.read_callback = readBody
        let ownBody = template.copy(own)
        let id = nghttp2_submit_request(session, nil, template.fields, template.count, &body, stream)
        guard id > 0 else {
            ownBody?.deallocate()
            // The stream ids are used up, so the connection accepts no more requests.
            guard id != NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue else { return nil }
            throw NGHTTP2Error("submit_request", id)
        }
        state.pointee.freeCount -= 1
        state.pointee.inFlight += 1
        stream.pointee.begin(
            id: id, template: template, ownBody: ownBody, position: state.pointee.output.position, startedAt: now)
        try encode()
        return slot
    }

    /// One request that has ended. Its slot stays in use and its answer readable until `release`.
    public func nextEnded() -> EndedStream? {
        guard state.pointee.endedCount > 0 else { return nil }
        let ended = state.pointee.ended[state.pointee.endedFirst]
        state.pointee.endedCount -= 1
        state.pointee.endedFirst += 1
        if state.pointee.endedFirst == state.pointee.capacity { state.pointee.endedFirst = 0 }
        return ended
    }

    /// The first 1,024 bytes of the answer's body; empty with a status of 200.
    public func withAnswer<Value>(_ slot: Int, _ read: (UnsafeRawBufferPointer) -> Value) -> Value {
        let stream = state.pointee.streams + slot
        return read(UnsafeRawBufferPointer(start: stream.pointee.answer, count: stream.pointee.answerCount))
    }

    /// Whether a part of an ended request's body was never written, because the server's flow control held it back.
    public func hasUnsentBody(_ slot: Int) -> Bool {
        state.pointee.streams[slot].bodySent < state.pointee.streams[slot].bodyCount
    }

    /// The first 32 bytes of `retry-after` of an answer other than 200.
    public func retryAfter(_ slot: Int) -> [UInt8]? {
        let stream = state.pointee.streams + slot
        guard let answer = stream.pointee.answer, stream.pointee.retryAfterCount > 0 else { return nil }
        let start = answer + StreamState.answerCapacity
        return Array(UnsafeBufferPointer(start: start, count: stream.pointee.retryAfterCount))
    }

    /// All fields of the answer to a traced request; empty for any other.
    public func fields(_ slot: Int) -> [(name: String, value: String)] { state.pointee.fields[slot] ?? [] }

    /// Frees the slot of a request that has ended.
    public func release(_ slot: Int) {
        let stream = state.pointee.streams + slot
        if stream.pointee.isTraced { state.pointee.dropFields(slot) }
        precondition(stream.pointee.id == 0, "the request of this slot has not ended")
        stream.pointee.letGoOfTemplate()
        state.pointee.free[state.pointee.freeCount] = Int32(slot)
        state.pointee.freeCount += 1
    }

    /// Resets the requests that began at `time` or before. Returns when the oldest of the others began, if any.
    public func endLate(startedBy time: Int64) throws(NGHTTP2Error) -> Int64? {
        var oldest: Int64?
        for slot in 0..<state.pointee.capacity where state.pointee.streams[slot].id != 0 {
            let stream = state.pointee.streams + slot
            if stream.pointee.startedAt > time {
                oldest = min(oldest ?? .max, stream.pointee.startedAt)
            } else if !stream.pointee.isLate {
                stream.pointee.isLate = true
                let code = nghttp2_submit_rst_stream(
                    session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.pointee.id, NGHTTP2_CANCEL.rawValue)
                guard code == 0 else { throw NGHTTP2Error("submit_rst_stream", code) }
            }
        }
        try encode()
        return oldest
    }

    /// Ends every stream, because the connection is gone. A stream ends as `.unprocessed` if none of its bytes was
    /// taken from the output. Nothing can be sent or received any more.
    public func endAll() {
        for slot in 0..<state.pointee.capacity where state.pointee.streams[slot].id != 0 {
            let stream = state.pointee.streams + slot
            let isUnsent = stream.pointee.position >= state.pointee.output.taken
            state.pointee.end(stream, isUnsent ? .unprocessed : stream.pointee.isLate ? .late : .lost)
        }
        state.pointee.isEnding = true
    }

    // MARK: The connection

    public func ping() throws(NGHTTP2Error) {
        let code = nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
        guard code == 0 else { throw NGHTTP2Error("submit_ping", code) }
        try encode()
    }

    /// Sends GOAWAY, after which we open no more streams.
    public func leave() throws(NGHTTP2Error) {
        let code = nghttp2_submit_goaway(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, NGHTTP2_NO_ERROR.rawValue, nil, 0)
        guard code == 0 else { throw NGHTTP2Error("submit_goaway", code) }
        try encode()
    }

    /// Receives bytes from the server. It calls back only into `state`. Replies go into the output.
    public func receive(_ bytes: UnsafeRawBufferPointer) throws(NGHTTP2Error) {
        precondition(pthread_equal(thread, pthread_self()) != 0, "a session belongs to the thread that made it")
        guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
        guard !state.pointee.isEnding else { return }
        let count = nghttp2_session_mem_recv(session, start, bytes.count)
        guard count >= 0 else { throw NGHTTP2Error("session_mem_recv", Int32(count)) }
        try encode()
    }

    /// Lends the bytes that wait to be sent. `send` returns how many it took.
    public func withOutput<Failure: Error>(_ send: (UnsafeRawBufferPointer) throws(Failure) -> Int) throws(Failure) {
        guard state.pointee.output.count > 0 else { return }
        state.pointee.output.take(try send(state.pointee.output.bytes))
    }

    public var hasOutput: Bool { state.pointee.output.count > 0 }
    /// How many bytes wait to be sent.
    public var outputBytes: Int { state.pointee.output.count }

    /// Lets nghttp2 write its frames into the output: all of them, unless the output is full.
    public func encode() throws(NGHTTP2Error) {
        while !state.pointee.isEnding, state.pointee.output.count < Self.outputLimit {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &bytes)
            guard count >= 0 else { throw NGHTTP2Error("session_mem_send", Int32(count)) }
            guard count > 0, let bytes else { return }
            // nghttp2's buffer is valid only until its next call.
            state.pointee.output.append(bytes, count)
        }
    }
}

/// nghttp2 could not do a call. The fate of a request is an `EndedStream` instead.
public struct NGHTTP2Error: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ operation: String, _ code: Int32) {
        let isOutOfMemory = code == NGHTTP2_ERR_NOMEM.rawValue
        let message = isOutOfMemory ? "out of memory" : "\(String(cString: nghttp2_strerror(code))) (\(code))"
        description = "nghttp2: \(operation) failed: \(message)"
    }
}
