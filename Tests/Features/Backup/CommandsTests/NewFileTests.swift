import Foundation
import Testing

@testable import Commands

@Suite struct NewFileTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/lamplighter-\(UUID().uuidString)"
    private var path: String { directory + "/a.backup" }

    private func inDirectory(_ body: () throws -> Void) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body()
    }

    @Test func `a second backup to the same file is refused, and the first is whole`() throws {
        try inDirectory {
            let first = try NewFile(path)
            try first.write(Array("all of ".utf8))
            let failure = #expect(throws: CommandFailure.self) { try NewFile(path) }
            #expect(failure?.message == "cannot write \(path).part: another backup is writing it")
            try first.write(Array("it".utf8))
            try first.finish()
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "all of it")
            #expect(!FileManager.default.fileExists(atPath: path + ".part"))
            // The next one may.
            try NewFile(path).finish()
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "")
        }
    }

    @Test func `the rest of a backup that died is replaced, with its rights`() throws {
        try inDirectory {
            let part = path + ".part"
            #expect(
                FileManager.default.createFile(
                    atPath: part, contents: Data("old".utf8), attributes: [.posixPermissions: 0o666]))
            let file = try NewFile(path)
            try file.write(Array("new".utf8))
            try file.finish()
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
            #expect((try FileManager.default.attributesOfItem(atPath: path))[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `a directory, a device and a missing directory are refused before anything is read`() throws {
        try inDirectory {
            // A link to a device: a file that replaced it would do no harm to the machine of the test.
            let device = directory + "/device"
            try FileManager.default.createSymbolicLink(atPath: device, withDestinationPath: "/dev/null")
            for (path, words) in [
                (directory, "it is not a regular file; a dash writes to stdout"),
                (device, "it is not a regular file; a dash writes to stdout"),
                (directory + "/none/a.backup", "No such file or directory"),
            ] {
                let failure = #expect(throws: CommandFailure.self) { try NewFile(path) }
                #expect(failure?.message.hasSuffix(words) == true, "\(failure?.message ?? "")")
                #expect(!FileManager.default.fileExists(atPath: path + ".part"))
            }
        }
    }
}
