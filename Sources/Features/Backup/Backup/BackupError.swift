/// Why a backup file cannot be read, or not further.
public enum BackupError: Error, Sendable, Hashable, CustomStringConvertible {
    case notABackup
    case otherVersion(Int)
    case needsKey
    case wrongKey
    /// A key was given, and the file is not encrypted.
    case notEncrypted
    /// The file ends before its last line.
    case truncated
    /// The text says where.
    case broken(String)
    /// The file could not be read or written. The text is the system's.
    case file(String)

    public var description: String {
        switch self {
        case .notABackup: "this is not a backup: its first line is none of 'lamplighter backup'"
        case .otherVersion(let version):
            "the backup has format \(version), and this Lamplighter reads \(BackupHeader.version): use the version that "
                + "wrote it, or a newer one"
        case .needsKey: "the backup is encrypted: give its key with --key-file"
        case .wrongKey: "the backup was encrypted with another key"
        case .notEncrypted: "the backup is not encrypted: leave --key-file out"
        case .truncated: "the file was cut off: its end is missing"
        case .broken(let text): "the file is broken: \(text)"
        case .file(let text): text
        }
    }
}
