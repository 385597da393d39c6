internal import CNGHTTP2

/// A request that has ended, one way or another.
public struct EndedStream: Sendable, Hashable {
    /// Where the request was; free again after `release`.
    public var slot: Int
    /// HTTP status; 0 = no answer's head has come.
    public var status: Int
    public var end: StreamEnd
    /// As given to `submit`.
    public var startedAt: Int64

    public init(slot: Int, status: Int, end: StreamEnd, startedAt: Int64) {
        self.slot = slot
        self.status = status
        self.end = end
        self.startedAt = startedAt
    }
}

/// How a request's stream ended.
public enum StreamEnd: Sendable, Hashable {
    /// The answer was read to its end.
    case complete
    /// REFUSED_STREAM, above a GOAWAY's last stream id, or never sent: the server has not acted on it.
    case unprocessed
    /// The server reset it: its error code.
    case reset(UInt32)
    /// We reset it, its time was up.
    case late
    /// The connection ended under it.
    case lost
}

/// A GOAWAY of the server.
public struct Goaway: Sendable, Hashable {
    /// Requests up to this id may have been processed; those above were not.
    public var lastStreamID: Int32
    public var errorCode: UInt32
    /// The debug data, at most 256 bytes: APNs's JSON reason.
    public var text: String
}
