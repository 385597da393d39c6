import Backup
import Testing

@testable import Commands

extension ErrorWordsTests {
    @Test func `each error of a backup says what to do`() {
        let backups: [(BackupError, String)] = [
            (.notABackup, "lamplighter backup"), (.otherVersion(9), "use the version"), (.needsKey, "--key-file"),
            (.wrongKey, "another key"), (.notEncrypted, "leave --key-file out"), (.truncated, "cut off"),
            (.broken("entry 3"), "entry 3"), (.file("a.backup: x"), "a.backup"),
        ]
        #expect(Set(backups.map { Self.kind($0.0) }).count == backups.count)
        for (error, words) in backups { #expect(BackupFile.failure(error, "").message.contains(words)) }
    }

    private static func kind(_ error: BackupError) -> String {
        switch error {
        case .notABackup: "notABackup"
        case .otherVersion: "otherVersion"
        case .needsKey: "needsKey"
        case .wrongKey: "wrongKey"
        case .notEncrypted: "notEncrypted"
        case .truncated: "truncated"
        case .broken: "broken"
        case .file: "file"
        }
    }
}
