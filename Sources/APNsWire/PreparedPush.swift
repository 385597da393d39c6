/// Headers and payload that one push sends to every token, rendered once.
public struct PreparedPush: Sendable, Hashable {
    public var headers: PushHeaders
    public var payload: [UInt8]

    public init(headers: PushHeaders, payload: [UInt8]) {
        self.headers = headers
        self.payload = payload
    }
}
