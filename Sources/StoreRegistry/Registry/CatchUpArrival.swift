/// A channel that registered a token during a sweep. If it registers again, it moves to the end.
public struct CatchUpArrival: Sendable, Hashable {
    public var channel: [UInt8]
    /// Rises in the order of arrival.
    public var order: Int64

    package init(channel: [UInt8], order: Int64) {
        self.channel = channel
        self.order = order
    }
}
