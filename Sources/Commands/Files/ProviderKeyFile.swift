import APNsClient
import Glibc
import OpenSSL
import Settings

/// A .p8 file of an app. It is read and checked to be a P-256 key before the first push.
struct ProviderKeyFile {
    var pem: [UInt8]
    var key: P256SigningKey

    init(_ app: AppSettings, _ pair: AppField.KeyPair = AppField.firstKey) throws(SettingsError) {
        let path = try app.required(pair.file)
        let file = NamedFile(setting: "\(pair.file.path) of app '\(app.key)'", path: path)
        // A key has some 250 bytes.
        pem = try file.pem(.privateKey, limit: 64 << 10)
        do {
            key = try P256SigningKey(pem: pem)
        } catch {
            throw file.failure("is not usable", "Apple's .p8 key is needed: \(error)")
        }
    }

    /// Reads the keys of an app: the keys of its first environment, and the keys of the other one.
    static func keys(of app: AppSettings) throws(SettingsError) -> (first: [APNsKey], other: [APNsKey]) {
        func read(_ pairs: [AppField.KeyPair]) throws(SettingsError) -> [APNsKey] {
            try pairs.map { (pair) throws(SettingsError) in
                APNsKey(
                    teamID: try app.required(.teamID), keyID: try app.required(pair.id),
                    pem: try ProviderKeyFile(app, pair).pem)
            }
        }
        return (try read(app.keyPairs), try read(app.otherKeyPairs))
    }

    /// Says which users other than the owner can read or change a file of secrets. Nil if none can.
    static func exposure(_ path: String) -> String? {
        var found = stat()
        guard stat(path, &found) == 0 else { return nil }
        return exposure(mode: Int(found.st_mode), isRoots: found.st_uid == 0, path)
    }

    /// The group may read a file of root's: root gives it to the group of the service's user, as the Debian package
    /// does.
    static func exposure(mode: Int, isRoots: Bool, _ path: String) -> String? {
        if mode & 0o002 != 0 { return "every user of this machine can change \(path)" }
        if mode & 0o004 != 0 { return "every user of this machine can read \(path)" }
        if mode & 0o020 != 0 { return "its group can change \(path)" }
        if mode & 0o040 != 0, !isRoots { return "its group can read \(path)" }
        return nil
    }
}
