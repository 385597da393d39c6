/// Numbers in Redis. Lua counts exactly to 2^53, so a larger one is none of ours. Without this range a number that a
/// broken tool wrote would overflow in a sum, and that ends the process.
enum StoredNumber {
    static let range = -(1 << 53)...(1 << 53)

    /// Nil outside of this range.
    static func read(_ number: Int64) -> Int? { Int(exactly: number).flatMap { range.contains($0) ? $0 : nil } }

    /// Nil for text that is no number in this range.
    static func read(_ text: some StringProtocol) -> Int? { Int64(text).flatMap { read($0) } }
}
