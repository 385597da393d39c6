/// All of one request to a broadcast channel. APNs sends it on to every subscribed device.
public struct PreparedBroadcast: Sendable, Hashable {
    public var bundleID: String
    public var headers: BroadcastHeaders
    /// At most `Payload.maximumBroadcastBytes`.
    public var payload: [UInt8]

    public init(bundleID: String, headers: BroadcastHeaders, payload: [UInt8]) {
        self.bundleID = bundleID
        self.headers = headers
        self.payload = payload
    }

    public var path: String { BroadcastHeaders.path(bundleID: bundleID) }
}
