internal import LiveActivity

/// The identity of a span, in the form in which it crosses processes: the header `traceparent`.
/// https://www.w3.org/TR/trace-context-1/#traceparent-header
public struct TraceContext: Sendable, Hashable {
    /// 32 lowercase hex digits, not all zero.
    public let trace: String
    /// 16 lowercase hex digits, not all zero.
    public let span: String
    public let isSampled: Bool

    /// Reads a header. Nil if it is malformed: the standard says to begin a new trace then.
    public init?(_ header: String) {
        let bytes = Array(header.utf8)
        guard bytes.count >= 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }) else { return nil }
        func digits(_ range: Range<Int>) -> String? {
            let part = bytes[range]
            let areHex = part.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
            return areHex ? String(decoding: part, as: UTF8.self) : nil
        }
        guard let version = digits(0..<2), version != "ff",
            let flags = digits(53..<55).flatMap({ UInt8($0, radix: 16) }),
            let trace = digits(3..<35), let span = digits(36..<52),
            [trace, span].allSatisfy({ $0.contains { $0 != "0" } })
        else { return nil }
        // A later version may have more fields behind another dash.
        guard version == "00" ? bytes.count == 55 : bytes.count == 55 || bytes[55] == UInt8(ascii: "-") else {
            return nil
        }
        (self.trace, self.span, isSampled) = (trace, span, flags & 1 == 1)
    }

    private init(trace: String, span: String) { (self.trace, self.span, isSampled) = (trace, span, true) }

    /// The root of a new trace that is sampled.
    public static func root() -> TraceContext { TraceContext(trace: randomDigits(16), span: randomDigits(8)) }
    /// A sampled span of the same trace.
    public func child() -> TraceContext { TraceContext(trace: trace, span: Self.randomDigits(8)) }

    public var header: String { "00-\(trace)-\(span)-\(isSampled ? "01" : "00")" }

    private static func randomDigits(_ count: Int) -> String {
        var generator = SystemRandomNumberGenerator()
        // The last byte is not zero, so the whole is not.
        return Hex.encode((0..<count).map { UInt8.random(in: ($0 == count - 1 ? 1 : 0)...255, using: &generator) })
    }
}
