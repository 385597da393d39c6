import Delivery
internal import LiveActivity

/// The path of a request, in one buffer that each request overwrites as far as it differs from the one before.
final class RequestPath {
    private var buffer: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// The text at the start of the buffer: a shared path, or the text before an address.
    private var head = ""
    private var headCount = 0

    init() {
        capacity = 64 + 2 * PushToken.maximumBytes
        buffer = .allocate(capacity: capacity)
    }

    deinit { buffer.deallocate() }

    /// Lends the path and the address of a request. A NUL follows the path's bytes.
    func withBytes<Template, Value, Failure: Error>(
        of request: LaneRequest<Template>,
        _ body: (_ path: UnsafeBufferPointer<UInt8>, _ address: UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let shared = request.part.sending
        let range = shared.page.entries[request.index].tokenRange
        return try shared.page.bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            let address = UnsafeBufferPointer(rebasing: bytes[range])
            let count = write(shared.push.path, address)
            return try body(UnsafeBufferPointer(start: buffer, count: count), address)
        }
    }

    /// The path with the first digits of the address, for people.
    static func shortened(_ path: PreparedPush.Path, _ address: ArraySlice<UInt8>) -> String {
        switch path {
        case .shared(let path): path
        case .hexAddress(let prefix): "\(prefix)\(Exchange.shortened(Hex.encode(address)))"
        }
    }

    /// Writes the path of one entry, and returns its number of bytes.
    private func write(_ path: PreparedPush.Path, _ address: UnsafeBufferPointer<UInt8>) -> Int {
        switch path {
        case .shared(let path):
            begin(with: path)
            return headCount
        case .hexAddress(let prefix):
            begin(with: prefix)
            precondition(address.count <= PushToken.maximumBytes)
            let digits = buffer + headCount
            // There is no branch in the loop, so that the compiler can convert many digits at once.
            for position in 0..<address.count {
                let byte = address[position]
                digits[2 &* position] = Self.digit(byte >> 4)
                digits[2 &* position &+ 1] = Self.digit(byte & 0xF)
            }
            digits[2 * address.count] = 0
            return headCount + 2 * address.count
        }
    }

    private func begin(with text: String) {
        // The NUL behind a shared path is overwritten by the digits of an address, so it is written again.
        guard text != head || headCount == 0 else {
            buffer[headCount] = 0
            return
        }
        let bytes = Array(text.utf8)
        let needed = bytes.count + 2 * PushToken.maximumBytes + 1
        if needed > capacity {
            buffer.deallocate()
            buffer = .allocate(capacity: needed)
            capacity = needed
        }
        buffer.initialize(from: bytes, count: bytes.count)
        buffer[bytes.count] = 0
        (head, headCount) = (text, bytes.count)
    }

    /// `Hex.digit` without a branch: 6 or more over a nibble of 10 to 15 carries into the fifth bit.
    private static func digit(_ nibble: UInt8) -> UInt8 { nibble &+ 0x30 &+ ((nibble &+ 6) >> 4) &* 0x27 }
}

extension PreparedPush.Body {
    /// The body of one request with the first characters of its address, for people.
    func shortened(_ address: ArraySlice<UInt8>) -> [UInt8] {
        switch self {
        case .shared(let bytes): bytes
        case .aroundAddress(let before, let after):
            before + Array(Exchange.shortened(String(decoding: address, as: UTF8.self)).utf8) + after
        }
    }
}
