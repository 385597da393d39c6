/// A text that is compared and sorted by its bytes, for keys of dictionaries and sets.
public struct ExactText: Hashable, Comparable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let description: String

    public init(_ text: String) { description = text }
    public init(stringLiteral text: String) { description = text }

    public static func == (one: ExactText, other: ExactText) -> Bool {
        haveSameBytes(one.description, other.description)
    }

    public static func < (one: ExactText, other: ExactText) -> Bool {
        one.description.utf8.lexicographicallyPrecedes(other.description.utf8)
    }
}
