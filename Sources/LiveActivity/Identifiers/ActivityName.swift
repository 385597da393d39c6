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

    /// Whether the name begins with these bytes, as credentials for some names have it.
    public func begins(with prefix: String) -> Bool { rawValue.utf8.starts(with: prefix.utf8) }
    public var description: String { rawValue }
}
