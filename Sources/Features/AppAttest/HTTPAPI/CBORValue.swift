/// A value of CBOR (RFC 8949), as far as App Attest uses it: whole numbers, bytes, texts, arrays, and maps with texts
/// as keys, all of definite length.
///
/// A stranger sends the bytes. So each length is compared with what is left before anything is reserved, and depth and
/// numbers of entries have limits.
enum CBORValue: Hashable, Sendable {
    case number(Int64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    case map([String: CBORValue])

    struct Failure: Error, Hashable {}

    static let mostDepth = 4
    static let mostEntries = 16

    /// - Throws: also if bytes are left over
    init(_ bytes: [UInt8]) throws(Failure) {
        var reader = CBORReader(rest: bytes[...])
        self = try reader.value(depth: 0)
        guard reader.rest.isEmpty else { throw Failure() }
    }

    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var array: [CBORValue]? { if case .array(let entries) = self { entries } else { nil } }

    subscript(key: String) -> CBORValue? { if case .map(let entries) = self { entries[key] } else { nil } }
}

private struct CBORReader {
    var rest: ArraySlice<UInt8>

    mutating func value(depth: Int) throws(CBORValue.Failure) -> CBORValue {
        let (type, argument) = try head()
        switch type {
        case 0, 1:
            guard let number = Int64(exactly: argument) else { throw CBORValue.Failure() }
            return .number(type == 0 ? number : -1 - number)
        case 2: return .bytes(Array(try take(argument)))
        case 3:
            guard let text = String(validating: try take(argument), as: UTF8.self) else { throw CBORValue.Failure() }
            return .text(text)
        case 4:
            let count = try entries(argument, depth)
            var array: [CBORValue] = []
            for _ in 0..<count { array.append(try value(depth: depth + 1)) }
            return .array(array)
        case 5:
            let count = try entries(argument, depth)
            var map: [String: CBORValue] = [:]
            for _ in 0..<count {
                guard let key = try value(depth: depth + 1).text, map[key] == nil else { throw CBORValue.Failure() }
                map[key] = try value(depth: depth + 1)
            }
            return .map(map)
        // Tags, floating point numbers and simple values.
        default: throw CBORValue.Failure()
        }
    }

    private func entries(_ count: UInt64, _ depth: Int) throws(CBORValue.Failure) -> Int {
        guard depth < CBORValue.mostDepth, count <= CBORValue.mostEntries else { throw CBORValue.Failure() }
        return Int(count)
    }

    private mutating func head() throws(CBORValue.Failure) -> (type: UInt8, argument: UInt64) {
        guard let first = try take(1).first else { throw CBORValue.Failure() }
        switch first & 0x1F {
        case let small where small < 24: return (first >> 5, UInt64(small))
        case let size where size < 28:
            let bytes = try take(1 << UInt64(size - 24))
            return (first >> 5, bytes.reduce(0) { $0 << 8 | UInt64($1) })
        // An indefinite length.
        default: throw CBORValue.Failure()
        }
    }

    private mutating func take(_ count: UInt64) throws(CBORValue.Failure) -> ArraySlice<UInt8> {
        guard count <= UInt64(rest.count) else { throw CBORValue.Failure() }
        defer { rest = rest.dropFirst(Int(count)) }
        return rest.prefix(Int(count))
    }
}
