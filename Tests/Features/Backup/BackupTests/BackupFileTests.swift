import LiveActivity
import Store
import Testing

@testable import Backup

/// Tests the file alone: what a reader notices of a file that is cut, changed or put together in another order.
@Suite struct BackupFileTests {
    private static let key = BackupKey(text: String(repeating: "0a", count: 32) + "\n")

    private final class Bytes { var bytes: [UInt8] = [] }

    private static func entries(_ count: Int) throws -> [BackupEntry] {
        try (0..<count).map { number in
            let sets = ["t:device:" + String(repeating: "x", count: 2_000)]
            guard
                let channel = StoredChannel(
                    channel: try ChannelID("channel \(number)"), created: 1, seen: Int64(number), sets: sets)
            else { throw BackupError.notABackup }
            return .channel(channel)
        }
    }

    /// A file of several chunks.
    private static func file(_ count: Int = 1_000, key: BackupKey?) throws -> [UInt8] {
        let out = Bytes()
        let header = BackupHeader(apps: ["shop"], createdAt: 5, madeBy: "test", key: key)
        var writer = try BackupWriter(header, key: key) { out.bytes += $0 }
        for entry in try entries(count) { try writer.append("shop", entry) }
        try writer.finish()
        return out.bytes
    }

    /// Reads a file in small pieces.
    private static func read(_ file: [UInt8], key: BackupKey?) -> (entries: [BackupEntry], error: BackupError?) {
        var entries: [BackupEntry] = []
        var rest = file[...]
        do throws(BackupError) {
            var reader = try BackupReader(key: key) {
                defer { rest = rest.dropFirst(70_001) }
                return Array(rest.prefix(70_001))
            }
            while let chunk = try reader.next() { entries += chunk.map(\.entry) }
            return (entries, nil)
        } catch {
            return (entries, error)
        }
    }

    @Test(arguments: [true, false])
    func `a file has all entries in order`(isEncrypted: Bool) throws {
        let key = isEncrypted ? Self.key : nil
        for count in [0, 1, 1_000] {
            let (entries, error) = Self.read(try Self.file(count, key: key), key: key)
            #expect(try error == nil && entries == Self.entries(count))
        }
    }

    @Test(arguments: [true, false])
    func `a file that is cut anywhere gives only whole chunks, and an error`(isEncrypted: Bool) throws {
        let key = isEncrypted ? Self.key : nil
        let file = try Self.file(key: key)
        let all = try Self.entries(1_000)
        for length in Array(stride(from: 0, to: file.count, by: 61_003)) + [file.count - 1] {
            let (entries, error) = Self.read(Array(file.prefix(length)), key: key)
            #expect(
                error == (length == 0 ? BackupError.notABackup : .truncated)
                    && entries.elementsEqual(all.prefix(entries.count)))
        }
    }

    @Test(arguments: [true, false])
    func `a file with a changed byte gives only the chunks before it, and an error`(isEncrypted: Bool) throws {
        let key = isEncrypted ? Self.key : nil
        let file = try Self.file(key: key)
        let all = try Self.entries(1_000)
        for position in stride(from: 0, to: file.count, by: 61_003) {
            var changed = file
            changed[position] ^= 4
            let (entries, error) = Self.read(changed, key: key)
            #expect(error != nil && entries.count < all.count && entries.elementsEqual(all.prefix(entries.count)))
        }
        let (entries, error) = Self.read(file + [10], key: key)
        #expect(error == .broken("there is something behind its end") && entries.count < all.count)
    }

    @Test func `chunks of an encrypted file cannot change places, be left out or come from another file`() throws {
        let file = try Self.file(key: Self.key)
        let head = (file.firstIndex(of: 10) ?? 0) + 1
        func length(_ at: Int) -> Int { 4 + (Int(file[at + 1]) << 16 | Int(file[at + 2]) << 8 | Int(file[at + 3])) }
        let first = head..<head + length(head)
        let second = first.upperBound..<first.upperBound + length(first.upperBound)
        let swapped = file[..<head] + file[second] + file[first] + file[second.upperBound...]
        #expect(Self.read(Array(swapped), key: Self.key).entries.isEmpty)
        let missing = file[..<first.upperBound] + file[second.upperBound...]
        let (entries, error) = Self.read(Array(missing), key: Self.key)
        #expect(!entries.isEmpty && error == .broken("chunk 2 was changed, or is not where it belongs"))
        let other = try Self.file(key: Self.key)
        let mixed = file[..<first.upperBound] + other[first.upperBound...]
        #expect(Self.read(Array(mixed), key: Self.key).error == error)
    }

    @Test func `the key decides who reads a file, and errors say what is wrong`() throws {
        let sealed = try Self.file(key: Self.key)
        let plain = try Self.file(key: nil)
        #expect(Self.read(sealed, key: nil).error == .needsKey)
        #expect(Self.read(plain, key: Self.key).error == .notEncrypted)
        #expect(Self.read(sealed, key: BackupKey(text: String(repeating: "0b", count: 32))).error == .wrongKey)
        #expect(Self.read(Array("hello\n".utf8), key: nil).error == .notABackup)
        #expect(Self.read(Array(#"{"lamplighter_backup":2}"#.utf8) + [10], key: nil).error == .otherVersion(2))
        #expect(String(decoding: plain, as: UTF8.self).contains("channel 7"))
        #expect(!String(decoding: sealed, as: UTF8.self).contains("channel 7"))
        for text in ["", "0a", String(repeating: "0g", count: 32), String(repeating: "0a", count: 33)] {
            #expect(BackupKey(text: text) == nil)
        }
    }

    @Test(arguments: ["created_at_ms", "seen_at_ms"])
    func `a time that is none is wrong, and overflows in no sum`(field: String) throws {
        for (number, isRight) in [("9223372036854775807", false), ("-1", false), ("1795284000000", true)] {
            var times = ["created_at_ms": "1", "seen_at_ms": "1"]
            times[field] = number
            let line =
                #"{"entry":"channel","app":"shop","channel":"c","created_at_ms":\#(times["created_at_ms"]!),"#
                + #""seen_at_ms":\#(times["seen_at_ms"]!),"sets":[]}"#
            #expect(((try? BackupEntry.read(Array(line.utf8))) != nil) == isRight, "\(line)")
        }
    }
}
