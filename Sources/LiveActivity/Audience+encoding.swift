// The form of an audience in Redis. Two audiences are equal exactly if their encodings are, so a script can compare
// them as strings. It is a prefix notation with byte lengths, in netstring style:
//   *                       all
//   t<len>:<group><len>:<tag>   c<len>:<channel>   u<len>:<named user>   p<len>:<platform>
//   |<count>:…  &<count>:…  !…

extension Audience {
    public var encoded: [UInt8] {
        switch self {
        case .all: Array("*".utf8)
        case .tag(let tag, let group): Array("t\(group.utf8.count):\(group)\(tag.utf8.count):\(tag)".utf8)
        case .channel(let id): Array("c\(id.description.utf8.count):\(id)".utf8)
        case .namedUser(let name): Array("u\(name.utf8.count):\(name)".utf8)
        case .platform(let platform): Array("p\(platform.name.utf8.count):\(platform.name)".utf8)
        case .or(let parts): Array("|\(parts.count):".utf8) + parts.flatMap(\.encoded)
        case .and(let parts): Array("&\(parts.count):".utf8) + parts.flatMap(\.encoded)
        case .not(let part): Array("!".utf8) + part.encoded
        }
    }

    /// Reads an encoded audience.
    /// - Returns: nil for bytes that `encoded` did not write
    public init?(encoded: some Sequence<UInt8>) {
        var reader = AudienceReader(bytes: Array(encoded))
        // Compare the bytes, because the reader also accepts longer forms of an audience (`t01:`, an uppercase UUID).
        guard let audience = reader.audience(depth: 0), audience.encoded == reader.bytes else { return nil }
        self = audience
    }

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
        case UInt8(ascii: "p"): return text().flatMap { Platform(name: $0) }.map(Audience.platform)
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
        let digits = bytes[position...].prefix(7).prefix { (0x30...0x39).contains($0) }
        let end = digits.endIndex
        guard !digits.isEmpty, end < bytes.count, bytes[end] == UInt8(ascii: ":") else { return nil }
        position = end + 1
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
