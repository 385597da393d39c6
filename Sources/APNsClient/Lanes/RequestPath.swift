internal import APNsWire
import Delivery
internal import LiveActivity

/// The path of a request: `/3/device/<hex>` in one buffer that each request overwrites.
final class RequestPath {
    private static let prefix: StaticString = "/3/device/"
    private let buffer: UnsafeMutablePointer<UInt8>

    init() {
        let prefix = Self.prefix
        buffer = .allocate(capacity: prefix.utf8CodeUnitCount + 2 * PushToken.maximumBytes + 1)
        buffer.initialize(from: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
    }

    deinit { buffer.deallocate() }

    /// Lends the path of a request. A NUL follows its bytes.
    func withBytes<Template, Value, Failure: Error>(
        of request: LaneRequest<Template>, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let shared = request.part.sending
        guard let path = shared.push.path else {
            return try body(UnsafeBufferPointer(start: buffer, count: write(shared.page, request.index)))
        }
        // Copying these bytes for each request is cheap, because broadcasts are few.
        return try (Array(path.utf8) + [0]).withUnsafeBufferPointer { (bytes) throws(Failure) in
            try body(UnsafeBufferPointer(rebasing: bytes.dropLast()))
        }
    }

    /// The path with the first digits of the token, for people.
    static func shortened<Template>(of request: LaneRequest<Template>, in shared: SharedPage) -> String {
        shared.push.path ?? "\(prefix)\(Exchange.shortened(Hex.encode(shared.page.token(request.index))))"
    }

    /// Writes the path of one entry, and returns its number of bytes.
    private func write(_ page: TokenPage, _ index: Int) -> Int {
        let range = page.entries[index].tokenRange
        precondition(range.count <= PushToken.maximumBytes)
        let start = Self.prefix.utf8CodeUnitCount
        let digits = buffer + start
        page.bytes.withUnsafeBufferPointer { bytes in
            let token = UnsafeBufferPointer(rebasing: bytes[range])
            // There is no branch in the loop, so that the compiler can convert many digits at once.
            for position in 0..<token.count {
                let byte = token[position]
                digits[2 &* position] = Self.digit(byte >> 4)
                digits[2 &* position &+ 1] = Self.digit(byte & 0xF)
            }
        }
        digits[2 * range.count] = 0
        return start + 2 * range.count
    }

    /// `Hex.digit` without a branch: 6 or more over a nibble of 10 to 15 carries into the fifth bit.
    private static func digit(_ nibble: UInt8) -> UInt8 { nibble &+ 0x30 &+ ((nibble &+ 6) >> 4) &* 0x27 }
}
