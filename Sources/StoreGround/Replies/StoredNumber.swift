/// Numbers in Redis. Lua counts exactly to 2^53, so a larger one is none of ours. Without this range a number that a
/// broken tool wrote would overflow in a sum, and that ends the process.
package enum StoredNumber {
    package static let range = -(1 << 53)...(1 << 53)

    /// Nil outside of this range.
    package static func read(_ number: Int64) -> Int? { Int(exactly: number).flatMap { range.contains($0) ? $0 : nil } }

    /// Nil for text that is no number in this range.
    package static func read(_ text: some StringProtocol) -> Int? { Int64(text).flatMap { read($0) } }
}

package func bigEndian(_ number: some FixedWidthInteger & UnsignedInteger) -> [UInt8] {
    stride(from: number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
}

extension ArraySlice<UInt8> {
    /// Removes a big-endian number from the front. Nil if there are too few bytes. Nothing is removed then.
    package mutating func takeBigEndian<T: FixedWidthInteger & UnsignedInteger>(_: T.Type) -> T? {
        let size = T.bitWidth / 8
        guard count >= size else { return nil }
        defer { removeFirst(size) }
        return prefix(size).reduce(0) { $0 << 8 | T($1) }
    }
}
