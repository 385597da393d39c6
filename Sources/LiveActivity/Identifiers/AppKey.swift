/// The key of one served app, which a client sends as its Basic user name. 1 to 64 of `[A-Za-z0-9_.-]`.
public struct AppKey: Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(_ text: String) throws(IdentifierError) {
        guard Self.isKey(text) else { throw IdentifierError(what: "app key", rule: Self.rule) }
        rawValue = text
    }

    public static let rule = "1 to 64 characters of A-Z a-z 0-9 _ . -, and not begin with -"

    /// A leading minus would mean another thing: `worker.apps: -shop` is all but shop.
    public static func isKey(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(\.isURLUnreserved) && !text.hasPrefix("-")
    }

    public var description: String { rawValue }
}
