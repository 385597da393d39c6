/// A request that has ended in any way.
public struct EndedStream: Sendable, Hashable {
    /// The slot of the request, which is free again after `release`.
    public var slot: Int
    /// The HTTP status; 0 if no answer's head has come.
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
