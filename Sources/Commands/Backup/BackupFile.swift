import ArgumentParser
import Backup
import Foundation
import Settings

/// The options and files of `backup` and `restore`.
enum BackupFile {
    static let pieceBytes = 1 << 20

    /// Reads the key of encrypted backups.
    static func key(_ path: String?) throws -> BackupKey? {
        guard let path else { return nil }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.configuration, "cannot read the key file \(path)")
        }
        guard data.count <= 1_024, let key = BackupKey(text: String(decoding: data, as: UTF8.self)) else {
            throw CommandFailure(
                .configuration,
                "\(path) holds no key: it needs 64 hex digits\nmake one: openssl rand -hex 32 >backup.key")
        }
        if let exposure = ProviderKeyFile.exposure(path) { Terminal.error("warning: \(exposure); chmod 600 \(path)") }
        return key
    }

    /// The wanted apps of the settings.
    static func apps(_ keys: [String], _ settings: Settings) throws -> [AppSettings] {
        if keys.isEmpty { return try settings.requiredApps() }
        return try keys.map { try settings.app(named: $0) }
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

/// A file that appears under its name only when it is complete: `PATH.part` until then, readable by its owner alone.
struct NewFile {
    let path: String
    private let handle: FileHandle
    private var part: String { path + ".part" }

    init(_ path: String) throws {
        self.path = path
        if path == "-" {
            handle = .standardOutput
            return
        }
        let part = path + ".part"
        guard FileManager.default.createFile(atPath: part, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forWritingAtPath: part)
        else { throw CommandFailure(.failed, "cannot write \(part)") }
        handle = file
    }

    func write(_ bytes: [UInt8]) throws {
        do { try handle.write(contentsOf: Data(bytes)) } catch {
            throw CommandFailure(
                .failed, "cannot write \(path == "-" ? "to stdout" : part): \(error.localizedDescription)")
        }
    }

    /// Puts the file in its place, after the disk has it.
    func finish() throws {
        if path == "-" { return }
        do {
            try handle.synchronize()
            try handle.close()
        } catch { throw CommandFailure(.failed, "cannot write \(part): \(error.localizedDescription)") }
        guard rename(part, path) == 0 else { throw CommandFailure(.failed, "cannot rename \(part) to \(path)") }
    }

    func discard() { if path != "-" { try? FileManager.default.removeItem(atPath: part) } }
}
