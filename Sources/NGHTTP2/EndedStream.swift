/// A request that has ended in any way.
public struct EndedStream: Sendable, Hashable {
    /// The slot of the request, which is free again after `release`.
    public var slot: Int
    /// The HTTP status; 0 if no answer's head has come.
    public var status: Int
    public var end: StreamEnd
    /// As given to `submit`.
    public var startedAt: Int64
}
