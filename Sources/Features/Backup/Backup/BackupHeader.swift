import LiveActivity
import OpenSSL
import StrictJSON

/// The first line of a backup file: a JSON object that says how to read the rest.
///
///     {"lamplighter_backup":1,"created_at":"…","made_by":"0.1.0","apps":["shop"],"salt":"…","key_check":"…"}
///
/// `salt` and `key_check` are there if the rest is encrypted.
public struct BackupHeader: Sendable, Hashable {
    /// The only version of the format so far.
    public static let version = 1
    /// A first line is not longer, so another file is not read whole.
    static let maximumBytes = 64 << 10

    public var apps: [String]
    /// Epoch ms.
    public var createdAt: Int64
    /// The version of Lamplighter that wrote the file.
    public var madeBy: String
    /// 16 random bytes. The cipher's key is derived from them and the backup's key. Nil: the file is not encrypted.
    var salt: [UInt8]?
    /// Tells a wrong key from a broken file. It says nothing about the key.
    var keyCheck: [UInt8]?

    public init(apps: [String], createdAt: Int64, madeBy: String, key: BackupKey?) {
        (self.apps, self.createdAt, self.madeBy) = (apps, createdAt, madeBy)
        guard let key else { return }
        let salt = (0..<16).map { _ in UInt8.random(in: 0...255) }
        self.salt = salt
        keyCheck = key.check(salt)
    }

    public var isEncrypted: Bool { salt != nil }

    /// The line without its newline.
    var line: [UInt8] {
        JSON.fields([
            "lamplighter_backup": .integer(Self.version), "created_at_ms": .integer(createdAt),
            "made_by": .string(madeBy), "apps": .array(apps.map { .string($0) }),
            "salt": salt.map { .string(Hex.encode($0)) }, "key_check": keyCheck.map { .string(Hex.encode($0)) },
        ]).bytes
    }

    init(line: [UInt8]) throws(BackupError) {
        guard let object = try? JSONDocument(line).root.object(),
            let version = try? object["lamplighter_backup"]?.integer()
        else { throw .notABackup }
        guard version == Self.version else { throw .otherVersion(Int(clamping: version)) }
        do {
            apps = try object.required("apps").array().map { try $0.string() }
            createdAt = try object.required("created_at_ms").integer()
            madeBy = try object.required("made_by").string()
            salt = try object["salt"].flatMap { Hex.decode(try $0.string()) }
            keyCheck = try object["key_check"].flatMap { Hex.decode(try $0.string()) }
        } catch {
            throw .broken("its first line: \(error)")
        }
        guard (salt == nil) == (keyCheck == nil) else { throw .broken("its first line: salt without key_check") }
    }
}

/// The secret of encrypted backups: 32 bytes, as 64 hex digits in a file.
public struct BackupKey: Sendable {
    private let key: HMACKey

    /// - Parameter text: 64 hex digits; spaces and newlines around them do not count.
    /// - Returns: nil if the text is something else
    public init?(text: String) {
        guard let bytes = Hex.decode(text.trimmed), bytes.count == 32 else { return nil }
        key = HMACKey(bytes)
    }

    /// Each file has a key of its own, so that the cipher's numbers may begin at 0 in each.
    func cipher(_ salt: [UInt8]) -> AuthenticatedCipher {
        AuthenticatedCipher(key: Array(key.code(for: Array("lamplighter backup key".utf8) + salt)))
    }

    func check(_ salt: [UInt8]) -> [UInt8] {
        Array(key.code(for: Array("lamplighter backup check".utf8) + salt).prefix(8))
    }
}
