internal import LiveActivity

/// `/3/device/<hex>` in one buffer, written anew for each request.
final class DevicePath {
    private static let prefix: StaticString = "/3/device/"
    private let buffer: UnsafeMutablePointer<CChar>

    init() {
        let prefix = Self.prefix
        buffer = .allocate(capacity: prefix.utf8CodeUnitCount + 2 * PushToken.maximumBytes + 1)
        UnsafeMutableRawPointer(buffer).copyMemory(from: prefix.utf8Start, byteCount: prefix.utf8CodeUnitCount)
    }

    deinit { buffer.deallocate() }

    /// Lends the NUL-terminated path of one entry's token.
    func withPath<Failure: Error>(
        _ page: TokenPage, _ index: Int, _ body: (UnsafePointer<CChar>) throws(Failure) -> Void
    ) throws(Failure) {
        let range = page.entries[index].tokenRange
        precondition(range.count <= PushToken.maximumBytes)
        page.bytes.withUnsafeBufferPointer { bytes in
            var position = Self.prefix.utf8CodeUnitCount
            for byte in UnsafeBufferPointer(rebasing: bytes[range]) {
                buffer[position] = CChar(bitPattern: Hex.digit(byte >> 4))
                buffer[position + 1] = CChar(bitPattern: Hex.digit(byte & 0xF))
                position += 2
            }
            buffer[position] = 0
        }
        try body(buffer)
    }
}
