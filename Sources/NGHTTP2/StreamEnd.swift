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
