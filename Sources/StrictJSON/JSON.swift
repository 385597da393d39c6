/// A JSON value for output, such as responses and command output. Objects keep the order of their members.
public indirect enum JSON: Sendable, Hashable {
    case object([Member])
    case array([JSON])
    case string(String)
    case integer(Int64)
    case bool(Bool)
    case null
    /// Bytes that are JSON already. They are written unchanged.
    case raw([UInt8])

    public struct Member: Sendable, Hashable {
        public var key: String
        public var value: JSON

        public init(_ key: String, _ value: JSON) {
            self.key = key
            self.value = value
        }
    }

    /// A value exactly as it was read.
    public init(_ value: JSONValue) { self = .raw(Array(value.raw)) }

    public static func integer(_ value: Int) -> JSON { .integer(Int64(value)) }

    /// An object of the fields that are not nil. A null is written only for `.null`.
    public static func fields(_ fields: KeyValuePairs<String, JSON?>) -> JSON {
        .object(fields.compactMap { name, value in value.map { Member(name, $0) } })
    }

    /// An object of numbers by name, in the order of the names.
    public static func counts(_ counts: [String: Int]) -> JSON {
        .object(counts.sorted { $0.key < $1.key }.map { Member($0.key, .integer($0.value)) })
    }

    /// The JSON text: compact, `/` not escaped, control characters as short escapes or `\u00XX`.
    public var bytes: [UInt8] {
        var out: [UInt8] = []
        write(to: &out)
        return out
    }

    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Adds a member to an object. Has no effect on any other value.
    public mutating func append(_ key: String, _ value: JSON) {
        guard case .object(var members) = self else { return }
        members.append(Member(key, value))
        self = .object(members)
    }

    private func write(to out: inout [UInt8]) {
        switch self {
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (position, member) in members.enumerated() {
                if position > 0 { out.append(UInt8(ascii: ",")) }
                Self.write(member.key, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        case .array(let values):
            out.append(UInt8(ascii: "["))
            for (position, value) in values.enumerated() {
                if position > 0 { out.append(UInt8(ascii: ",")) }
                value.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .string(let text): Self.write(text, to: &out)
        case .integer(let value): out.append(contentsOf: String(value).utf8)
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .null: out.append(contentsOf: "null".utf8)
        case .raw(let bytes): out.append(contentsOf: bytes)
        }
    }

    private static func write(_ text: String, to out: inout [UInt8]) {
        let hex = Array("0123456789abcdef".utf8)
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): out += [UInt8(ascii: "\\"), byte]
            case 0x08: out += Array(#"\b"#.utf8)
            case 0x09: out += Array(#"\t"#.utf8)
            case 0x0A: out += Array(#"\n"#.utf8)
            case 0x0C: out += Array(#"\f"#.utf8)
            case 0x0D: out += Array(#"\r"#.utf8)
            case 0..<0x20: out += Array("\\u00".utf8) + [hex[Int(byte >> 4)], hex[Int(byte & 15)]]
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map { Member($0.0, $0.1) }) }
}
