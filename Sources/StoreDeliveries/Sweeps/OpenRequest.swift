import LiveActivity
import StoreGround

/// A request whose page was settled before its answer came (docs/adr/0035-open-requests.md).
public struct OpenRequest: Sendable, Hashable {
    /// The name of a request, never used twice: 4 random bytes of its worker and a number.
    public struct ID: Sendable, Hashable {
        package let bytes: [UInt8]

        public init(worker: UInt32, number: UInt32) {
            bytes = bigEndian(worker) + bigEndian(number)
        }
    }

    public var id: ID
    /// The channel as it was when its request left.
    public var channel: WaitingChannel
    /// After this time nothing is sent to the channel because of this request.
    public var length: Duration

    public init(_ id: ID, _ channel: WaitingChannel, for length: Duration) {
        (self.id, self.channel, self.length) = (id, channel, length)
    }
}
