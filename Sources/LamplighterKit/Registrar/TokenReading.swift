import Foundation

/// A token that ActivityKit tells by a property and by a sequence. Either may lag behind the other, so each counts only
/// when it changes. A decision without I/O.
struct TokenReading: Hashable, Sendable {
    private var property: Data?
    private(set) var newest: Data?

    /// - Returns: whether the token is not reported yet.
    mutating func heard(_ token: Data) -> Bool {
        defer { newest = token }
        return token != newest
    }

    /// - Returns: whether the property has a token that is not reported yet.
    mutating func read(_ token: Data?) -> Bool {
        guard let token, token != property else { return false }
        property = token
        return heard(token)
    }
}
