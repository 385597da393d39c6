internal import APNsWire
import Delivery
internal import Lanes
internal import LiveActivity

/// The body of an answer other than 200: `{"reason":"Unregistered","timestamp":1719244800000}`. Reading is tolerant: a
/// field that is missing or malformed stays empty, and the status decides.
struct ResponseBody: Hashable {
    /// Empty when there is none. Printable ASCII, at most `maximumReason` bytes, because ledgers and logs show it.
    var reason = ""
    /// Epoch milliseconds.
    var timestamp: Int64?

    static let maximumReason = 64

    /// APNs gives milliseconds. A number of ten digits is seconds, because as milliseconds it would be in 1970.
    private static func milliseconds(_ number: Int64) -> Int64 {
        (1_000_000_000..<10_000_000_000).contains(number) ? number * 1_000 : number
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        var scanner = Scanner(rest: Slice(base: bytes, bounds: bytes.indices))
        guard scanner.take(UInt8(ascii: "{")) else { return }
        while let key = scanner.string(), scanner.take(UInt8(ascii: ":")) {
            if key.elementsEqual("reason".utf8), let text = scanner.string() {
                let isPlain = text.count <= Self.maximumReason && text.allSatisfy { (0x20..<0x7F).contains($0) }
                reason = isPlain ? String(decoding: text, as: UTF8.self) : ""
            } else if key.elementsEqual("timestamp".utf8), let number = scanner.integer() {
                timestamp = Self.milliseconds(number)
            } else if !scanner.skipValue() {
                return
            }
            guard scanner.take(UInt8(ascii: ",")) else { return }
        }
    }

    /// Reads just enough JSON for one flat object, and skips nested values.
    private struct Scanner {
        var rest: Slice<UnsafeRawBufferPointer>

        mutating func skipSpace() { rest = rest.drop { $0 == 0x20 || (0x09...0x0D).contains($0) } }

        mutating func take(_ byte: UInt8) -> Bool {
            skipSpace()
            guard rest.first == byte else { return false }
            rest.removeFirst()
            return true
        }

        /// The bytes between the quotes; escapes stay as written.
        mutating func string() -> Slice<UnsafeRawBufferPointer>? {
            guard take(UInt8(ascii: "\"")) else { return nil }
            var index = rest.startIndex
            while index < rest.endIndex, rest[index] != UInt8(ascii: "\"") {
                index += rest[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard index < rest.endIndex else { return nil }
            defer { rest = rest[(index + 1)...] }
            return rest[..<index]
        }

        mutating func integer() -> Int64? {
            skipSpace()
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty, let number = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
            rest = rest[digits.endIndex...]
            return number
        }

        /// False at the end of the text, or if it is malformed.
        mutating func skipValue() -> Bool {
            var depth = 0
            while true {
                skipSpace()
                guard let byte = rest.first else { return false }
                switch byte {
                case UInt8(ascii: "\""): if string() == nil { return false }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    rest.removeFirst()
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return true }
                    depth -= 1
                    rest.removeFirst()
                case UInt8(ascii: ","):
                    if depth == 0 { return true }
                    rest.removeFirst()
                default: rest.removeFirst()
                }
            }
        }
    }
}

extension Rejection {
    /// Reads APNs's answer.
    init(_ answer: LaneAnswer) {
        let body = ResponseBody(answer.body)
        self.init(
            status: answer.status, reason: RejectionReason(wire: body.reason, status: answer.status),
            timestamp: answer.status == 410 ? body.timestamp : nil, retryAfter: answer.retryAfter)
    }
}
