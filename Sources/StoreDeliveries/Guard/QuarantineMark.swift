import StoreGround

/// Why a channel's token gets no pushes. The value in a name's quarantine.
public struct QuarantineMark: Sendable, Hashable {
    /// APNs's reason, such as `BadDeviceToken`.
    public var reason: String
    /// Epoch milliseconds.
    public var since: Int64
    public var token: [UInt8]

    public init(reason: String, since: Int64, token: [UInt8]) {
        self.reason = reason
        self.since = since
        self.token = token
    }

    /// since, 8 bytes big-endian ‖ length of the reason, 1 ‖ reason ‖ token.
    package var storedValue: [UInt8] {
        let text = Array(reason.utf8.prefix(255))
        return bigEndian(UInt64(bitPattern: since)) + [UInt8(text.count)] + text + token
    }

    package init?(storedValue: ArraySlice<UInt8>) {
        var rest = storedValue
        guard let since = rest.takeBigEndian(UInt64.self), let length = rest.popFirst(), rest.count > Int(length)
        else { return nil }
        self.init(
            reason: String(decoding: rest.prefix(Int(length)), as: UTF8.self), since: Int64(bitPattern: since),
            token: Array(rest.dropFirst(Int(length))))
    }
}
