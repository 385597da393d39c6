import ArgumentParser
import Backup
import LiveActivity
import Settings

/// The options and files of `backup` and `restore`.
enum BackupFile {
    private static let pieceBytes = 1 << 20

    /// Reads the key of encrypted backups.
    static func key(_ path: String?) throws -> BackupKey? {
        guard let path else { return nil }
        guard let bytes = try? InputFile(path: path)?.read(upTo: 1_025) else {
            throw CommandFailure(.configuration, "cannot read the key file \(path)")
        }
        let form = TextForm.foreign(bytes).map { "\($0), with" } ?? "it needs"
        let text = String(decoding: TextForm.unmarked(bytes), as: UTF8.self)
        guard bytes.count <= 1_024, let key = BackupKey(text: text) else {
            throw CommandFailure(
                .configuration,
                "\(path) holds no key: \(form) 64 hex digits\nmake one: openssl rand -hex 32 >backup.key")
        }
        if let exposure = ProviderKeyFile.exposure(path) { Terminal.error("warning: \(exposure); chmod 600 \(path)") }
        return key
    }

    /// Reads the next bytes of a backup. The error names the file.
    static func read(_ source: InputFile, _ path: String) throws -> [UInt8] {
        do { return try source.read(upTo: pieceBytes) } catch let failure as CommandFailure {
            throw BackupError.file("\(path): \(failure.message)")
        }
    }

    static func failure(_ error: BackupError, _ progress: String) -> CommandFailure {
        let status: ExitStatus =
            switch error {
            case .needsKey, .wrongKey, .notEncrypted, .otherVersion: .configuration
            case .notABackup, .truncated, .broken, .file: .failed
            }
        return CommandFailure(status, progress.isEmpty ? error.description : "\(error)\n\(progress)")
    }
}
