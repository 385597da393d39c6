internal import CNGHTTP2

/// Data that any number of requests share: all fields except `:path`, in nghttp2's form, and the body. A request copies
/// only the path, or also the body if each request has its own. The template belongs to one thread.
public final class SharedRequest {
    /// `:method`, `:scheme`, `:authority`, `:path`, then the others. Each request sets the value of the path.
    let fields: UnsafeMutablePointer<nghttp2_nv>
    let count: Int
    let path: UnsafeMutablePointer<nghttp2_nv>
    let body: UnsafeMutablePointer<UInt8>
    let bodyCount: Int
    /// Each request has a body of its own.
    private let hasOwnBodies: Bool
    /// The sessions keep all fields of the answers.
    let isTraced: Bool
    /// How many requests in flight use this template. The session retains it once for all of them, while there are any.
    var uses = 0
    /// The bytes of names and values, which `fields` points into. Both live and are freed together.
    private let text: UnsafeMutablePointer<UInt8>
    /// The digits of the length of one request's body, which differs if the request has its own.
    private let length: UnsafeMutablePointer<UInt8>
    private static let lengthDigits = 20

    /// Makes a POST. Nil if HTTP/2 cannot hold a field: names are lowercase tokens, values have no line breaks.
    /// - Parameters:
    ///   - body: of all requests; nil: each request has its own
    ///   - isTraced: the fields of the answers are wanted (`ClientSession.fields`)
    public init?(
        authority: String, fields others: [(name: String, value: String)], body shared: [UInt8]?,
        isTraced: Bool = false
    ) {
        guard others.allSatisfy({ Self.isSafe(name: $0.name, value: $0.value) }),
            Self.isSafe(name: "host", value: authority)
        else { return nil }
        let source = shared ?? []
        // Some proxies answer 411 to a request without its length.
        let ofAll = ("content-length", "\(source.count)")
        let all =
            [(":method", "POST"), (":scheme", "https"), (":authority", authority), (":path", ""), ofAll] + others
        text = .allocate(capacity: all.reduce(1) { $0 + $1.0.utf8.count + $1.1.utf8.count })
        fields = .allocate(capacity: all.count)
        count = all.count
        path = fields + 3
        var end = text
        func put(_ string: String) -> (start: UnsafeMutablePointer<UInt8>, count: Int) {
            let start = end
            for byte in string.utf8 {
                end.initialize(to: byte)
                end += 1
            }
            return (start, end - start)
        }
        for (index, field) in all.enumerated() {
            let name = put(field.0)
            let value = put(field.1)
            (fields + index).initialize(
                to: nghttp2_nv(
                    name: name.start, value: value.start, namelen: name.count, valuelen: value.count,
                    flags: cnghttp2_no_copy()))
        }
        // nghttp2 copies the path, because the request may wait while the next path is written.
        path.pointee.flags = cnghttp2_no_copy_of_name()
        body = .allocate(capacity: max(1, source.count))
        body.initialize(from: source, count: source.count)
        bodyCount = source.count
        hasOwnBodies = shared == nil
        length = .allocate(capacity: Self.lengthDigits)
        // The same for a length that differs.
        if hasOwnBodies { (fields + 4).pointee.flags = cnghttp2_no_copy_of_name() }
        self.isTraced = isTraced
    }

    deinit {
        fields.deallocate()
        text.deallocate()
        body.deallocate()
        length.deallocate()
    }

    /// Copies the body of one request and writes its length, if requests have bodies of their own.
    /// - Returns: the copy, which the caller deallocates; nil: the body is `body`
    func copy(_ body: UnsafeBufferPointer<UInt8>?) -> UnsafeMutableBufferPointer<UInt8>? {
        guard hasOwnBodies else { return nil }
        let own = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: body?.count ?? 0)
        if let body { _ = own.initialize(fromContentsOf: body) }
        var start = Self.lengthDigits
        var left = own.count
        repeat {
            start -= 1
            length[start] = UInt8(ascii: "0") + UInt8(left % 10)
            left /= 10
        } while left > 0
        (fields + 4).pointee.value = length + start
        (fields + 4).pointee.valuelen = Self.lengthDigits - start
        return own
    }

    /// Whether HTTP/2 can hold the field as it is (RFC 9113, 8.2.1).
    public static func isSafe(name: String, value: String) -> Bool {
        let isToken = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
        let isPlain = value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
        let edges = [value.utf8.first, value.utf8.last]
        return isToken && !name.isEmpty && isPlain && !edges.contains(0x20) && !edges.contains(0x09)
    }
}
