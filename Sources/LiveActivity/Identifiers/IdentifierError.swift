/// A name, key or id that breaks its rule. The error names the kind and the rule, never the value.
public struct IdentifierError: Error, Hashable, CustomStringConvertible {
    public let what: String
    public let rule: String
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

/// Checks the name of an attributes type, and returns it.
/// - Throws: unless `text` can name the Swift type of an activity's attributes
public func checkedAttributesType(_ text: String) throws(IdentifierError) -> String {
    try checkText(text, what: "attributes_type", maximumBytes: 255)
    return text
}
