/// A value of a YAML document, with the line on which it begins.
public struct YAMLNode: Sendable {
    public indirect enum Content: Sendable {
        /// Text as written, without its quotes. A plain scalar has none.
        case scalar(String, isPlain: Bool)
        case sequence([YAMLNode])
        /// The pairs in the order of the text.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    public var content: Content
    /// Counted from 1.
    public var line: Int
    /// A plain scalar is followed by a comment without a blank after its `#`, so it may be a part of the value.
    public var isCutByHash = false
}

/// A text is not YAML, or more than a file of settings may hold.
public struct YAMLError: Error, Sendable, Hashable {
    public var reason: String
    /// Counted from 1. Nil: of the text as a whole.
    public var line: Int?
}
