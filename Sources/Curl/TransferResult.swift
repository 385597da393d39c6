public struct TransferResult: Sendable, Hashable {
    /// Nil if libcurl reports success. There may be a fault and a `status`, if the answer's head came before the fault.
    public var fault: TransferFault?
    /// The HTTP status; 0 if no answer's head has come.
    public var status: Int
    public var isHTTP2 = true
    /// The request began on an established connection, so bytes of it may have left this machine.
    public var wasSent = true
    /// It was sent, and then declared unprocessed (REFUSED_STREAM, or a GOAWAY below its stream).
    public var wasDeclaredUnprocessed = false
    /// The streams in use when the connection accepted no more requests.
    public var streamsAtRefusal: Int?
    /// It had been sent, and a part of its body was not: the server's flow control held it back.
    public var hasUnsentBody = false
}
