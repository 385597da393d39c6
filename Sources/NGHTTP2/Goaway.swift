public struct Goaway: Sendable, Hashable {
    /// Requests up to this id may have been processed; those above were not.
    public var lastStreamID: Int32
    public var errorCode: UInt32
    /// The debug data, at most 256 bytes: APNs's JSON reason.
    public var text: String
}
