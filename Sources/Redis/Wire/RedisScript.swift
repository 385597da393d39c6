internal import OpenSSL

/// A Lua script. EVALSHA names it by its digest.
public struct RedisScript: Sendable, Hashable {
    public let name: String
    public let source: String
    /// How many keys each call has. No script takes a varying number of keys.
    public let keyCount: Int
    /// SHA-1 of the source in lowercase hex, as SCRIPT LOAD returns it.
    public let digest: String

    public init(name: String, source: String, keyCount: Int) {
        self.name = name
        self.source = source
        self.keyCount = keyCount
        digest = SHA1Digest(of: source.utf8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    var loadCommand: RedisCommand { RedisCommand("SCRIPT", ["LOAD", .string(source)]) }
}
