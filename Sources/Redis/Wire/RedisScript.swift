internal import OpenSSL

/// A Lua script, called like a function with labelled parameters. EVALSHA names it by its digest.
public struct RedisScript: Sendable, Hashable {
    public let name: String
    /// The names of the keys and fixed arguments, in the order of the call. No script has a varying number of keys.
    public let keys: [String]
    public let arguments: [String]
    /// Whether a call may have further arguments.
    public let takesRest: Bool
    public let source: String
    /// SHA-1 of the source in lowercase hex, as SCRIPT LOAD returns it.
    public let digest: String

    /// - Parameters:
    ///   - keys: the body reads each as a local of that name.
    ///   - arguments: the body reads them in the same way. They come as one, because each argument of a call costs
    ///     Redis more than a field of a packed one.
    ///   - takesRest: the further arguments are ARGV[rest], ARGV[rest + 1] and so on in the body.
    ///   - library: Lua that is put before the body. It does not see the names.
    public init(
        name: String, keys: [String], arguments: [String] = [], takesRest: Bool = false, library: String = "",
        body: String
    ) {
        (self.name, self.keys, self.arguments, self.takesRest) = (name, keys, arguments, takesRest)
        var prelude = keys.isEmpty ? "" : "local \(keys.joined(separator: ", ")) = unpack(KEYS)\n"
        if !arguments.isEmpty {
            prelude += "local \(arguments.joined(separator: ", ")) = cmsgpack.unpack(ARGV[1])\n"
        }
        if takesRest { prelude += "local rest = \(arguments.isEmpty ? 1 : 2)\n" }
        source = library + prelude + body
        digest = SHA1Digest(of: source.utf8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    var loadCommand: RedisCommand { RedisCommand("SCRIPT", ["LOAD", .string(source)]) }
}
