/// 16 bytes with a canonical text form in lowercase, as in RFC 9562.
public struct UUIDBytes: Hashable, Sendable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// A random (version 4) UUID from the system's generator.
    public static func random() -> UUIDBytes {
        var generator = SystemRandomNumberGenerator()
        let high = (generator.next() & ~0xF000) | 0x4000
        let low = (generator.next() & ~(0b11 << 62)) | (0b10 << 62)
        return UUIDBytes(high: high, low: low)
    }

    /// Reads the 36-character text form in either case; nil for anything else.
    public init?(_ text: some StringProtocol) {
        var values: (UInt64, UInt64) = (0, 0)
        var digits = 0
        var position = 0
        for byte in text.utf8 {
            defer { position += 1 }
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let nibble = Hex.value(byte), digits < 32 else { return nil }
            if digits < 16 {
                values.0 = values.0 << 4 | UInt64(nibble)
            } else {
                values.1 = values.1 << 4 | UInt64(nibble)
            }
            digits += 1
        }
        guard position == 36, digits == 32 else { return nil }
        self.init(high: values.0, low: values.1)
    }

    /// The 16 bytes, most significant first.
    public var bytes: [UInt8] {
        (0..<16).map { index in
            let word = index < 8 ? high : low
            return UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * (index & 7)))
        }
    }

    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            if index < 8 { words.0 = words.0 << 8 | UInt64(byte) } else { words.1 = words.1 << 8 | UInt64(byte) }
        }
        self.init(high: words.0, low: words.1)
    }

    public var description: String {
        let hex = Hex.encode(bytes)
        var text = ""
        text.reserveCapacity(36)
        for (index, character) in hex.enumerated() {
            if index == 8 || index == 12 || index == 16 || index == 20 { text.append("-") }
            text.append(character)
        }
        return text
    }
}

/// The key of one served app, which a client sends as its Basic user name. 1 to 64 of `[A-Za-z0-9_.-]`.
public struct AppKey: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(_ text: String) throws(IdentifierError) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(\.isURLUnreserved) else {
            throw IdentifierError(what: "app key", rule: "1 to 64 characters of A-Z a-z 0-9 _ . -")
        }
        rawValue = text
    }

    public var description: String { rawValue }
}

/// The name under which channels follow an activity, such as `order-1234`: 1 to 255 bytes of UTF-8 without control
/// characters.
public struct ActivityName: Hashable, Sendable, CustomStringConvertible {
    public static let maximumBytes = 255
    public let rawValue: String

    public init(_ text: String) throws(IdentifierError) {
        try checkText(text, what: "name", maximumBytes: Self.maximumBytes)
        rawValue = text
    }

    public var description: String { rawValue }

    /// The name with an order by bytes, as Redis has it.
    public var exact: ExactText { ExactText(rawValue) }

    /// Compares bytes, as Redis compares keys.
    public static func == (one: ActivityName, other: ActivityName) -> Bool {
        haveSameBytes(one.rawValue, other.rawValue)
    }
}

extension ActivityName {
    /// The name under which the push-to-start tokens of an attributes type are registered. No activity can have it,
    /// because it begins with a control character.
    public init(startTokensOf attributesType: String) { rawValue = Self.startTokensPrefix + attributesType }

    private static let startTokensPrefix = "\u{1}"

    /// The attributes type whose start tokens are registered here; nil for an activity's name.
    public var startTokensType: String? { rawValue.rest(behind: Self.startTokensPrefix) }

    /// Reads the `rawValue` of either kind of name.
    public init(stored text: String) throws(IdentifierError) {
        guard let type = text.rest(behind: Self.startTokensPrefix) else {
            try self.init(text)
            return
        }
        try checkAttributesType(type)
        self.init(startTokensOf: type)
    }
}

/// Checks the name of an attributes type.
/// - Throws: unless `text` can name the Swift type of an activity's attributes
public func checkAttributesType(_ text: String) throws(IdentifierError) {
    try checkText(text, what: "attributes_type", maximumBytes: 255)
}

/// One install of an app on one device. The id is a UUID (either case, kept in lowercase) or a foreign id of 1 to 128
/// bytes.
public struct ChannelID: Hashable, Sendable, CustomStringConvertible {
    public static let maximumBytes = 128
    public let description: String

    public init(_ text: String) throws(IdentifierError) {
        if let uuid = UUIDBytes(text) {
            description = uuid.description
        } else {
            try checkText(text, what: "channel", maximumBytes: Self.maximumBytes)
            description = text
        }
    }

    public init(_ uuid: UUIDBytes) { description = uuid.description }

    public static func random() -> ChannelID { ChannelID(.random()) }

    /// Compares bytes, as Redis compares fields and members.
    public static func == (one: ChannelID, other: ChannelID) -> Bool {
        haveSameBytes(one.description, other.description)
    }

    /// The form as a field or member in Redis. A UUID is its 16 bytes. A foreign id is 0x01 and its UTF-8, plus a zero
    /// byte at the end if it would have 16 bytes too.
    public var stored: [UInt8] {
        if let uuid = UUIDBytes(description) { return uuid.bytes }
        let bytes = [0x01] + Array(description.utf8)
        return bytes.count == 16 ? bytes + [0] : bytes
    }

    /// Reads the stored form; nil if the bytes were not written by `stored`.
    public init?(stored: some BidirectionalCollection<UInt8>) {
        if let uuid = UUIDBytes(bytes: stored) {
            self.init(uuid)
            return
        }
        guard stored.first == 0x01 else { return nil }
        var text = stored.dropFirst()
        if stored.count == 17, text.last == 0 { text = text.dropLast() }
        guard let string = String(validating: text, as: UTF8.self), UUIDBytes(string) == nil,
            let channel = try? ChannelID(string)
        else { return nil }
        self = channel
    }
}

/// One accepted publish.
public struct PushID: Hashable, Sendable, CustomStringConvertible {
    public let uuid: UUIDBytes
    public init(_ uuid: UUIDBytes) { self.uuid = uuid }
    public init?(_ text: some StringProtocol) {
        guard let uuid = UUIDBytes(text) else { return nil }
        self.uuid = uuid
    }
    public static func random() -> PushID { PushID(.random()) }
    public var description: String { uuid.description }
}

/// A name, key or id that breaks its rule. The error names the kind and the rule, never the value.
public struct IdentifierError: Error, Hashable, CustomStringConvertible {
    public let what: String
    public let rule: String
    public init(what: String, rule: String) {
        self.what = what
        self.rule = rule
    }
    public var description: String { "\(what) must be \(rule)" }
}

/// Checks a text that becomes a name or an id.
/// - Throws: unless `text` is 1 to `maximumBytes` bytes of UTF-8 without control characters (C0, DEL, C1)
public func checkText(_ text: String, what: String, maximumBytes: Int) throws(IdentifierError) {
    let clean = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    guard !text.isEmpty, text.utf8.count <= maximumBytes, clean else {
        throw IdentifierError(what: what, rule: "1 to \(maximumBytes) bytes of text without control characters")
    }
}

extension UInt8 {
    /// A letter, a digit, `_`, `.` or `-`.
    public var isURLUnreserved: Bool {
        switch self {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
