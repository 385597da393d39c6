public import Answers
import LiveActivity
import StrictJSON

/// A credential of an app beside its two secrets. It holds no secret, only salted hashes.
public struct AppCredential: Sendable, Hashable {
    public struct Secret: Sendable, Hashable {
        /// The text form of a salted hash.
        public var hash: String
        /// Until when it is valid, epoch ms. Nil: as long as the credential.
        public var until: Int64?

        public init(hash: String, until: Int64? = nil) {
            self.hash = hash
            self.until = until
        }
    }

    /// The newest, and those before it that are still valid.
    public static let mostSecrets = 5
    public static let idRule = "1 to 64 characters of A-Z a-z 0-9 _ -"
    /// The ids that the app's two secrets, devices, commands, gateways and callers of features have in logs.
    public static let builtInIDs = ofCore + callersOfFeatures
    private static let ofCore = ["master", "app", "device", "signed", "unproven", "cli", "file"]

    /// Whether a credential may not have this id, because it is one of these or looks like one: `CLI`, `Master-`.
    public static func isTaken(_ id: String) -> Bool {
        func plain(_ id: String) -> String { id.lowercased().filter { $0 != "-" && $0 != "_" } }
        return builtInIDs.contains(plain(id)) || ["mastersecret", "appsecret"].contains(plain(id))
    }

    public var id: String
    public var scopes: Set<CredentialScope>
    /// Only names that begin so. Nil: all names, and calls that are about none.
    public var namePrefix: String?
    /// Epoch ms. Nil: never.
    public var expires: Int64?
    /// Epoch ms.
    public var created: Int64
    /// The newest first. The others are those before it, as long as they are valid.
    public var secrets: [Secret]

    public init(
        id: String, scopes: Set<CredentialScope>, namePrefix: String? = nil, expires: Int64? = nil,
        created: Int64 = 0, secrets: [Secret]
    ) {
        (self.id, self.scopes, self.namePrefix) = (id, scopes, namePrefix)
        (self.expires, self.created, self.secrets) = (expires, created, secrets)
    }

    public static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isURLUnreserved && $0 != UInt8(ascii: ".") }
    }

    public func isOver(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }
}

extension AppCredential {
    /// The form in Redis.
    var document: [UInt8] {
        JSON.fields([
            "scopes": .array(scopes.words.map(JSON.string)), "prefix": namePrefix.map(JSON.string),
            "expires": expires.map(JSON.integer), "created": .integer(created),
            "secrets": .array(
                secrets.map { .fields(["hash": .string($0.hash), "until": $0.until.map(JSON.integer)]) }),
        ]).bytes
    }

    /// Nil for what this version does not know: such a credential opens nothing.
    init?(id: String, document: [UInt8]) {
        guard Self.isID(id), let root = try? JSONDocument(document).root.object(),
            let words = try? root.required("scopes").array().map({ try $0.string() }),
            let entries = try? root.required("secrets").array().map({ try $0.object() })
        else { return nil }
        let scopes = words.compactMap(CredentialScope.init(rawValue:))
        guard scopes.count == words.count, !scopes.isEmpty else { return nil }
        var secrets: [Secret] = []
        for entry in entries {
            guard let hash = try? entry.required("hash").string() else { return nil }
            let until: Int64?
            do { until = try entry["until"]?.integer() } catch { return nil }
            secrets.append(Secret(hash: hash, until: until))
        }
        // A limit that cannot be read must not become no limit.
        do {
            self.init(
                id: id, scopes: Set(scopes), namePrefix: try root["prefix"]?.string(),
                expires: try root["expires"]?.integer(), created: (try? root["created"]?.integer()) ?? 0,
                secrets: secrets)
        } catch {
            return nil
        }
    }
}
