// The form of an audience in Redis. Two audiences are equal exactly if their encodings are, so a script can compare
// them as strings. It is a prefix notation with byte lengths, in netstring style:
//   *                       all
//   t<len>:<group><len>:<tag>   c<len>:<channel>   u<len>:<named user>
//   |<count>:…  &<count>:…  !…

extension Audience {
    public var encoded: [UInt8] {
        var out: [UInt8] = []
        encode(into: &out)
        return out
    }

    private func encode(into out: inout [UInt8]) {
        switch self {
        case .all: out += "*".utf8
        case .tag(let tag, let group): out += "t\(group.utf8.count):\(group)\(tag.utf8.count):\(tag)".utf8
        case .channel(let id): out += "c\(id.description.utf8.count):\(id)".utf8
        case .namedUser(let name): out += "u\(name.utf8.count):\(name)".utf8
        case .or(let parts):
            out += "|\(parts.count):".utf8
            parts.forEach { $0.encode(into: &out) }
        case .and(let parts):
            out += "&\(parts.count):".utf8
            parts.forEach { $0.encode(into: &out) }
        case .not(let part):
            out += "!".utf8
            part.encode(into: &out)
        }
    }

    /// Reads an encoded audience.
    /// - Returns: nil for bytes that `encoded` did not write
    public init?(encoded: some Sequence<UInt8>) {
        var reader = AudienceReader(bytes: Array(encoded))
        // Compare the bytes, because the reader also accepts longer forms of the same audience (`t01:`, an uppercase
        // UUID).
        guard let audience = reader.audience(depth: 0), audience.encoded == reader.bytes else { return nil }
        self = audience
    }
}

extension Audience {
    /// Compares bytes, as Redis does. Swift's strings use Unicode's equivalence instead, but a publisher's tags "é" and
    /// "e" with an accent are two different tags.
    public static func == (one: Audience, other: Audience) -> Bool { one.encoded == other.encoded }
}

private struct AudienceReader {
    let bytes: [UInt8]
    var position = 0

    mutating func audience(depth: Int) -> Audience? {
        guard depth <= Audience.maximumDepth, position < bytes.count else { return nil }
        let letter = bytes[position]
        position += 1
        switch letter {
        case UInt8(ascii: "*"): return .all
        case UInt8(ascii: "t"):
            guard let group = text(), let tag = text() else { return nil }
            return .tag(tag, group: group)
        case UInt8(ascii: "c"): return text().flatMap { try? ChannelID($0) }.map(Audience.channel)
        case UInt8(ascii: "u"): return text().map(Audience.namedUser)
        case UInt8(ascii: "|"): return parts(depth).map(Audience.or)
        case UInt8(ascii: "&"): return parts(depth).map(Audience.and)
        case UInt8(ascii: "!"): return audience(depth: depth + 1).map(Audience.not)
        default: return nil
        }
    }

    private mutating func parts(_ depth: Int) -> [Audience]? {
        guard let count = number(), count <= Audience.maximumLeaves else { return nil }
        var parts: [Audience] = []
        for _ in 0..<count {
            guard let part = audience(depth: depth + 1) else { return nil }
            parts.append(part)
        }
        return parts
    }

    private mutating func text() -> String? {
        guard let length = number(), length <= bytes.count - position else { return nil }
        defer { position += length }
        return String(validating: bytes[position..<position + length], as: UTF8.self)
    }

    private mutating func number() -> Int? {
        var value = 0
        var digits = 0
        while position < bytes.count, (0x30...0x39).contains(bytes[position]), digits < 7 {
            value = value * 10 + Int(bytes[position] - 0x30)
            position += 1
            digits += 1
        }
        guard digits > 0, position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return nil }
        position += 1
        return value
    }
}
