internal import CNGHTTP2

// nghttp2 calls these inside `nghttp2_session_mem_recv`, `…_mem_send` and `…_del`, on the session's thread. `user_data`
// is the `SessionState`, which outlives nghttp2's session. A stream's user data is its `StreamState` in there. A
// callback must not throw or block. It may call into the session only to look up a stream.

func setCallbacks(_ callbacks: OpaquePointer) {
    nghttp2_session_callbacks_set_send_data_callback(callbacks, sendBody)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, receiveField)
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receiveBody)
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receiveFrame)
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closeStream)
}

private func sessionState(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<SessionState>? {
    context?.assumingMemoryBound(to: SessionState.self)
}

private func streamState(_ session: OpaquePointer?, _ id: Int32) -> UnsafeMutablePointer<StreamState>? {
    nghttp2_session_get_stream_user_data(session, id)?.assumingMemoryBound(to: StreamState.self)
}

/// Says how much of the body the next DATA frame takes. `sendBody` writes it.
func readBody(
    _: OpaquePointer?, _: Int32, _: UnsafeMutablePointer<UInt8>?, room: Int, flags: UnsafeMutablePointer<UInt32>?,
    source: UnsafeMutablePointer<nghttp2_data_source>?, _: UnsafeMutableRawPointer?
) -> Int {
    guard let stream = source?.pointee.ptr?.assumingMemoryBound(to: StreamState.self), stream.pointee.body != nil,
        let flags
    else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let left = stream.pointee.bodyCount - stream.pointee.bodySent
    let count = min(room, left)
    flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if count == left { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}

/// Writes a DATA frame, header and body, into the output.
private func sendBody(
    _: OpaquePointer?, _: UnsafeMutablePointer<nghttp2_frame>?, header: UnsafePointer<UInt8>?, count: Int,
    source: UnsafeMutablePointer<nghttp2_data_source>?, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let state = sessionState(context), let header,
        let stream = source?.pointee.ptr?.assumingMemoryBound(to: StreamState.self),
        let body = stream.pointee.body
    else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    state.pointee.output.append(header, 9)
    state.pointee.output.append(body + stream.pointee.bodySent, count)
    stream.pointee.bodySent += count
    return 0
}

private func receiveField(
    _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, name: UnsafePointer<UInt8>?, nameCount: Int,
    value: UnsafePointer<UInt8>?, valueCount: Int, _: UInt8, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let state = sessionState(context), let frame, let name, let value else { return 0 }
    let id = cnghttp2_frame_header(frame).pointee.stream_id
    if id != state.pointee.readingID || state.pointee.reading == nil {
        state.pointee.reading = streamState(session, id)
        state.pointee.readingID = id
    }
    guard let stream = state.pointee.reading else { return 0 }
    if stream.pointee.isTraced {
        let field = UnsafeBufferPointer(start: name, count: nameCount)
        let text = UnsafeBufferPointer(start: value, count: valueCount)
        state.pointee.keep((String(decoding: field, as: UTF8.self), String(decoding: text, as: UTF8.self)), of: stream)
    }
    if name[0] == UInt8(ascii: ":") {
        // This is `:status`, the only pseudo-field of an answer. nghttp2 has checked its three digits.
        guard valueCount == 3 else { return 0 }
        stream.pointee.status = (0..<3).reduce(0) { $0 * 10 + Int32(value[$1]) - 48 }
    } else if stream.pointee.status != 200 {
        let field = UnsafeBufferPointer(start: name, count: nameCount)
        if field.elementsEqual("retry-after".utf8) { stream.pointee.keep(retryAfter: value, count: valueCount) }
    }
    return 0
}

private func receiveBody(
    _ session: OpaquePointer?, _: UInt8, id: Int32, bytes: UnsafePointer<UInt8>?, count: Int,
    _: UnsafeMutableRawPointer?
) -> Int32 {
    guard let stream = streamState(session, id), let bytes, stream.pointee.status != 200 else { return 0 }
    stream.pointee.keep(answer: bytes, count: count)
    return 0
}

/// Notes a whole frame that concerns the connection.
private func receiveFrame(
    _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let state = sessionState(context), let frame else { return 0 }
    let header = cnghttp2_frame_header(frame).pointee
    let isAcknowledgement = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    switch UInt32(header.type) {
    case NGHTTP2_PING.rawValue where isAcknowledgement: state.pointee.pongs += 1
    case NGHTTP2_GOAWAY.rawValue:
        let goaway = cnghttp2_frame_goaway(frame).pointee
        let text = UnsafeBufferPointer(start: goaway.opaque_data, count: min(256, goaway.opaque_data_len))
        state.pointee.goaway = Goaway(
            lastStreamID: goaway.last_stream_id, errorCode: goaway.error_code,
            text: String(decoding: text, as: UTF8.self))
    default: break
    }
    return 0
}

/// Notes a closed stream: answered, reset by either side, refused, or (in `nghttp2_session_del`) forgotten.
private func closeStream(
    _ session: OpaquePointer?, id: Int32, code: UInt32, context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let state = sessionState(context), !state.pointee.isEnding, let stream = streamState(session, id) else {
        return 0
    }
    let end: StreamEnd =
        switch code {
        case _ where stream.pointee.isLate: .late
        case NGHTTP2_NO_ERROR.rawValue: .complete
        case NGHTTP2_REFUSED_STREAM.rawValue: .unprocessed
        default: .reset(code)
        }
    state.pointee.end(stream, end)
    return 0
}
