/// One request as received, before anything was interpreted.
public struct RawRequest: Sendable, Hashable {
    /// The API to which the request was sent.
    public enum Kind: String, Sendable, CaseIterable { case device, broadcast, management }

    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String
    }

    /// The header fields in the order in which they were sent, including pseudo-header fields.
    public var fields: [Field]
    public var body: [UInt8]
}
