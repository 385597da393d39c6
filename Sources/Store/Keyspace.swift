import LiveActivity

/// Names of all keys. See docs/keyspace.md.
public struct Keyspace: Sendable {
    public static let defaultPrefix = "ll"
    let prefix: String
}
