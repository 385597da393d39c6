/// The name by which channels follow an activity (`order-1234`): 1 to 255 bytes of UTF-8 without control characters.
public struct ActivityName: Hashable, Sendable, CustomStringConvertible {
    public static let maximumBytes = 255
    /// The name, compared and sorted by bytes, as Redis does.
    public let exact: ExactText

    public init(_ text: String) throws(IdentifierError) {
        try checkText(text, what: "name", maximumBytes: Self.maximumBytes)
        exact = ExactText(text)
    }

    public var rawValue: String { exact.description }

    /// Whether the name begins with these bytes, as credentials for some names have it. Nil: every name does.
    public func begins(with prefix: String?) -> Bool { prefix.map { rawValue.utf8.starts(with: $0.utf8) } ?? true }
    public var description: String { rawValue }
}
