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
