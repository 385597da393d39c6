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
