/// A request that has ended in any way.
public struct EndedStream: Sendable, Hashable {
    /// The slot of the request, which is free again after `release`.
    public var slot: Int
    /// The HTTP status; 0 if no answer's head has come.
    public var status: Int
    public var end: StreamEnd
    /// The time that `submit` was given.
    public var startedAt: Int64
}

/// How a request's stream ended.
public enum StreamEnd: Sendable, Hashable {
    /// The answer was read to its end.
    case complete
    /// REFUSED_STREAM, above a GOAWAY's last stream id, or never sent. The server has not acted on the request.
    case unprocessed
    /// The server reset the stream, with this error code.
    case reset(UInt32)
    /// We reset the stream, because its time was up.
    case late
    /// The connection ended before the stream did.
    case lost
}
