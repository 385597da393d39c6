import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// Lua compares texts by the locale of the Redis server, so no script compares ids with `<` or `>`.
@Suite struct LocaleTests {
    private static let letters = "abcdefghijklmnopqrstuvwxyz", digits = "0123456789"

    /// Makes a locale in which letters stand before digits. It needs nothing of the machine's locales.
    /// - Returns: the variables of a server that has it
    private func lettersFirst(_ directory: TemporaryDirectory) async throws -> [String: String] {
        func symbol(_ byte: UInt8) -> String { "<U00\(Hex.encode([byte]).uppercased())>" }
        let charmap = (UInt8(0)..<128).map { "\(symbol($0)) /x\(Hex.encode([$0]))" }.joined(separator: "\n")
        let order = (Self.letters + Self.digits).utf8.map(symbol).joined(separator: "\n")
        let head = "<code_set_name> ASCII\n<comment_char> %\n<escape_char> /\n<mb_cur_max> 1\n"
        try directory.write("charmap", Array("\(head)CHARMAP\n\(charmap)\nEND CHARMAP\n".utf8))
        let collation = "LC_COLLATE\norder_start forward\n\(order)\norder_end\nEND LC_COLLATE\n"
        try directory.write("source", Array("comment_char %\nescape_char /\n\(collation)".utf8))
        // It warns of the other categories, which the locale lacks.
        let files = ["-i", directory.path("source"), "-f", directory.path("charmap"), directory.path("letters-first")]
        _ = try await ChildProcess.run(["localedef", "--force", "--no-archive"] + files)
        return ["LOCPATH": directory.path(""), "LC_ALL": "letters-first"]
    }

    @Test(.enabled(if: !RedisServer.isCluster))
    func `a push with a greater id is a new one in each locale`() async throws {
        let directory = try TemporaryDirectory()
        let fixture = try await PushFixture.start(environment: try await lettersFirst(directory))
        let isFirst = RedisCommand("EVAL", ["return 'a' < '0' and 1 or 0", "0"])
        try #require(try await fixture.store.redis.send(isFirst).integer() == 1, "the server has another locale")
        let ids = try ["9", "a"].map { try #require(PushID("019a1b6e-b16a-7c58-b78d-00000000000\($0)")) }
        for id in ids {
            _ = try await fixture.publish("match-1", id: id)
            // The name keeps `top` if a push is not above it. Such a push costs more looks.
            let top = RedisCommand("HEXISTS", try fixture.key(Keyspace.name), "top")
            #expect(try await fixture.store.redis.send(top).integer() == 0, "\(id)")
            _ = try await fixture.deliver(try await fixture.claimed("match-1", id), targets: 0)
        }
    }
}
