import LiveActivity
import OpenSSL
import StrictJSON

/// The keys of a provider that sign ID tokens: a JSON Web Key Set (RFC 7517). Keys of other kinds are left out.
struct ProviderKeys: Sendable {
    /// The signatures that are believed (RFC 7518, 3.1). `none`, and signatures by a shared secret, are no cases.
    enum Algorithm: String, Sendable, CaseIterable {
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    struct Key: Sendable {
        var id: String?
        var algorithm: Algorithm
        fileprivate var isValid: @Sendable (_ signature: [UInt8], _ message: [UInt8]) -> Bool

        func signed(_ message: [UInt8], as signature: [UInt8]) -> Bool { isValid(signature, message) }
    }

    enum Search: Sendable {
        case found(Key)
        /// Maybe the provider has begun to use another one.
        case unknown
        /// The key of this id makes signatures of another kind.
        case ofOtherKind
    }

    /// The most keys that are read. Providers have two or three.
    private static let most = 50
    private let keys: [Key]

    init(_ document: [UInt8]) throws(OpenIDFailure) {
        guard let entries = try? JSONDocument(document).root.object().required("keys").array() else {
            throw OpenIDFailure("its keys are no key set")
        }
        keys = entries.prefix(Self.most).compactMap { (try? $0.object()).flatMap(Self.key) }
    }

    /// - Parameter id: nil: the token names none, so there must be a single key of the algorithm.
    func key(_ id: String?, _ algorithm: Algorithm) -> Search {
        let named = keys.filter { key in id.map { $0 == key.id } ?? true }
        let fitting = named.filter { $0.algorithm == algorithm }
        guard let key = fitting.first, id != nil || fitting.count == 1 else {
            return id != nil && !named.isEmpty ? .ofOtherKind : .unknown
        }
        return .found(key)
    }

    private static func key(_ body: JSONObject) -> Key? {
        func bytes(_ name: String) -> [UInt8]? { body.text(name).flatMap { Base64.decodeURL($0) } }
        guard body.text("use") ?? "sig" == "sig" else { return nil }
        let algorithm: Algorithm
        let isValid: @Sendable ([UInt8], [UInt8]) -> Bool
        switch body.text("kty") {
        case "RSA":
            guard let modulus = bytes("n"), let exponent = bytes("e"),
                let key = RSAPublicKey(modulus: modulus, exponent: exponent)
            else { return nil }
            algorithm = .rs256
            isValid = { key.isValid($0, for: $1) }
        case "EC":
            guard body.text("crv") == "P-256", let x = bytes("x"), let y = bytes("y"), x.count == 32,
                let key = try? P256PublicKey(point: [4] + x + y)
            else { return nil }
            algorithm = .es256
            isValid = { key.isValid($0, for: $1) }
        default: return nil
        }
        guard body.text("alg").map({ $0 == algorithm.rawValue }) ?? true else { return nil }
        return Key(id: body.text("kid"), algorithm: algorithm, isValid: isValid)
    }
}
