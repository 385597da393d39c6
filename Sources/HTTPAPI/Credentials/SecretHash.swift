import LiveActivity
import OpenSSL

/// The salted hash of a secret: HMAC-SHA256 with the salt as its key. Secrets are random or long, so a slow hash would
/// protect nothing, and would let strangers keep gateways busy.
public struct SecretHash: Sendable, Hashable {
    public static let rule = "as 'lamplighter credential hash' prints it: hmac-sha256:SALT:HASH"
    /// The fewest characters of a secret that somebody else made.
    public static let fewestCharacters = 24
    private static let word = "hmac-sha256"
    private let salt: [UInt8]
    private let code: [UInt8]

    public init(of secret: String) {
        salt = Self.random(16)
        code = Array(HMACKey(salt).code(for: Array(secret.utf8)))
    }

    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == Self.word, let salt = Hex.decode(parts[1]), salt.count == 16,
            let code = Hex.decode(parts[2]), code.count == 32
        else { return nil }
        (self.salt, self.code) = (salt, code)
    }

    public var text: String { "\(Self.word):\(Hex.encode(salt)):\(Hex.encode(code))" }

    /// Takes the same time wherever the hashes differ.
    func fits(_ secret: [UInt8]) -> Bool { HMACKey(salt).isValid(code, for: secret) }

    /// A new secret of a credential: its id, a point, and 256 random bits.
    public static func newSecret(of id: String) -> String { "\(id).\(Base64.encodeURL(random(32)))" }

    private static func random(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: 0 ... .max, using: &generator) }
    }
}
