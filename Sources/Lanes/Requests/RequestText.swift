import Delivery
internal import LiveActivity

/// The path and the own body of a request, in buffers that each request overwrites. The path is overwritten as far as
/// it differs from the one before.
final class RequestText {
    private var buffer: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// The text at the start of the buffer: a shared path, or the text before an address.
    private var head = ""
    private var headCount = 0
    /// The newest body that is not shared.
    private var body: [UInt8] = []

    init() {
        capacity = 64 + 2 * PushToken.maximumBytes
        buffer = .allocate(capacity: capacity)
    }

    deinit { buffer.deallocate() }

    /// Lends the path and the own body of a request; nil: the push's body is shared. A NUL follows the path's bytes.
    func withBytes<Template, Value, Failure: Error>(
        of request: LaneRequest<Template>,
        _ use: (_ path: UnsafeBufferPointer<UInt8>, _ body: UnsafeBufferPointer<UInt8>?) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let shared = request.part.sending
        let entry = shared.page.entries[request.index]
        let count = shared.page.bytes.withUnsafeBufferPointer { bytes in
            let address = UnsafeBufferPointer(rebasing: bytes[entry.tokenRange])
            if case .ofEntry(let pieces) = shared.push.body {
                body.removeAll(keepingCapacity: true)
                body.append(
                    pieces, address, channel: bytes[entry.channelRange], registeredAt: entry.registeredAt)
            }
            return write(shared.push.path, address)
        }
        let path = UnsafeBufferPointer(start: buffer, count: count)
        guard case .ofEntry = shared.push.body else { return try use(path, nil) }
        return try body.withUnsafeBufferPointer { (body) throws(Failure) in try use(path, body) }
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

extension [UInt8] {
    /// Appends the pieces of one entry's body.
    fileprivate mutating func append(
        _ pieces: [PreparedPush.Piece], _ address: some Collection<UInt8>, channel: Slice<UnsafeBufferPointer<UInt8>>,
        registeredAt: Int64
    ) {
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): append(contentsOf: bytes)
            case .address: append(contentsOf: address)
            case .addressByKind(let kinds):
                append(contentsOf: address.first.flatMap { kinds[$0] } ?? [])
                append(contentsOf: address.dropFirst())
            case .channel: append(channel: channel)
            case .registration(let time):
                if registeredAt > time { append(contentsOf: "-\(registeredAt)".utf8) }
            case .secondsLeft(let time, let most):
                let left = Swift.max(0, time - bootClock() + 999) / 1_000
                append(contentsOf: "\(Swift.min(left, Int64(most)))".utf8)
            }
        }
    }

    /// Appends the text of a channel as the inside of a JSON string.
    private mutating func append(channel: Slice<UnsafeBufferPointer<UInt8>>) {
        // A UUID is 36 characters of 16 bytes; the characters of other texts may each need a backslash.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Swift.max(36, 2 * channel.count)) { text in
            var count = 0
            ChannelID.forEachTextByte(ofStored: channel) { byte in
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                    text[count] = UInt8(ascii: "\\")
                    count += 1
                }
                text[count] = byte
                count += 1
            }
            append(contentsOf: UnsafeBufferPointer(rebasing: text[..<count]))
        }
    }
}

extension PreparedPush.Body {
    /// The body of one request with the first characters of its address, for people.
    func shortened(_ address: ArraySlice<UInt8>, channel: ArraySlice<UInt8>, registeredAt: Int64) -> [UInt8] {
        switch self {
        case .shared(let bytes): return bytes
        case .ofEntry(let pieces):
            let hasKind = pieces.contains { if case .addressByKind = $0 { true } else { false } }
            let text = String(decoding: hasKind ? address.dropFirst() : address, as: UTF8.self)
            let shown = address.prefix(hasKind ? 1 : 0) + Array(Exchange.shortened(text).utf8)
            return channel.withUnsafeBufferPointer { channel in
                var body: [UInt8] = []
                body.append(pieces, shown, channel: channel[...], registeredAt: registeredAt)
                return body
            }
        }
    }
}
