import Foundation
import Testing

@testable import Commands

@Suite struct FileRightsTests {
    @Test(arguments: [
        (0o600, nil), (0o400, nil), (0o640, "its group can read f"), (0o660, "its group can change f"),
        (0o644, "every user of this machine can read f"), (0o666, "every user of this machine can change f"),
        (0o602, "every user of this machine can change f"),
    ])
    func `rights of a file with secrets are told in words`(mode: Int, words: String?) {
        #expect(ProviderKeyFile.exposure(mode: mode, isRoots: false, "f") == words)
    }

    @Test(arguments: [
        (0o640, nil), (0o600, nil), (0o660, "its group can change f"),
        (0o644, "every user of this machine can read f"),
    ])
    func `root may let the group of the service's user read a file`(mode: Int, words: String?) {
        #expect(ProviderKeyFile.exposure(mode: mode, isRoots: true, "f") == words)
    }

    @Test func `the rights and the owner of a file are read`() throws {
        let path = FileManager.default.temporaryDirectory.path + "/lamplighter-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        for (mode, words) in [(0o600, nil), (0o644, "every user of this machine can read \(path)")] {
            try? FileManager.default.removeItem(atPath: path)
            #expect(
                FileManager.default.createFile(
                    atPath: path, contents: Data(), attributes: [.posixPermissions: mode]))
            #expect(ProviderKeyFile.exposure(path) == words)
        }
        #expect(ProviderKeyFile.exposure("/nowhere") == nil)
    }
}
