/// JSON text that is passed on byte for byte. Its maker has checked that it is one JSON value.
public struct RawJSON: Hashable, Sendable {
    public let bytes: [UInt8]
    public init(checked bytes: [UInt8]) { self.bytes = bytes }
    public init(checked text: String) { bytes = Array(text.utf8) }
}
