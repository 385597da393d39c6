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
}
