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
