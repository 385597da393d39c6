/// A position in the scan of a name's tokens, in the order of the bit-reversed 32-bit hash: 0 ... 2^32. Everything
/// before it has been read, whatever the number of buckets, so the growth of a name does not move it.
///
/// The reason: a class of hashes (equal modulo a power of two), like each half of it, is an interval of this order.
public struct ScanPosition: Sendable, Hashable, Comparable {
    public var rawValue: UInt64
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }
    public static let start = ScanPosition(0)
    public static let end = ScanPosition(1 << 32)
    public static func < (a: ScanPosition, b: ScanPosition) -> Bool { a.rawValue < b.rawValue }
}
