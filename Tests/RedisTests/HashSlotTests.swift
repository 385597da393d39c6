import Foundation
import TestSupport
import Testing

@testable import Redis

@Suite struct HashSlotTests {
    /// Values from the cluster specification and from `CLUSTER KEYSLOT` of Redis 7.0.
    @Test(arguments: [
        ("123456789", 0x31C3), ("", 0), ("foo", 12_182), ("bar", 5_061), ("{q}", 11_958), ("ll:{q}:shop:10", 11_958),
        ("{user1000}.following", 3_443), ("{user1000}.followers", 3_443), ("foo{}{bar}", 8_363),
        ("foo{{bar}}zap", 4_015),
        ("foo{bar}{zap}", 5_061), ("{", 4_092), ("}{", 12_793),
    ])
    func `is the one of the specification`(key: String, slot: Int) {
        #expect(HashSlot(key: key).number == slot & 0x3FFF)
    }

    @Test func `commands are for the slot of their keys`() throws {
        let script = RedisScript(name: "s", keys: ["one", "other"], takesRest: true, body: "return 1")
        let commands = [
            RedisCommand("get", ["foo"]), RedisCommand("SET", ["foo", "bar"]), RedisCommand("DEL", ["foo", "{foo}2"]),
            RedisCommand("XGROUP", ["CREATE", "foo", "g", "$"]), RedisCommand("OBJECT", ["ENCODING", "foo"]),
            RedisCommand(script, keys: ["one": RedisKey("foo"), "other": RedisKey("a{foo}")], rest: ["bar"]),
            RedisCommand("EVAL", ["return 1", "1", "foo", "bar"]), RedisCommand("TIME", near: RedisKey("foo")),
            RedisCommand("XREADGROUP", ["GROUP", "STREAMS", "STREAMS", "STREAMS", "foo", "{foo}2", ">", ">"]),
            RedisCommand("XREAD", ["COUNT", 1, "STREAMS", "foo", "0"]),
            RedisCommand("SET", ["foo", .bytes([0, 13, 10])]),
        ]
        for command in commands { #expect(try command.slot().number == 12_182) }
    }

    /// A command that is not in the table would fail on a cluster only, where few look.
    @Test func `every command that the store sends by its keys is in the table`() throws {
        let sources = Repository.root.appending(path: "Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var names: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" && file.path.contains("/Store") {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /(?:RedisCommand|run)\(\s*"([A-Z]+)",(?!\s*near)/) {
                names.insert(String(match.1))
            }
        }
        #expect(names.count > 20)
        // WAIT goes behind a write, on its connection; INFO to every primary (`onEachPrimary`).
        for name in names.subtracting(["WAIT", "INFO"]).sorted() {
            let command = RedisCommand(name, ["STREAMS", "STREAMS", "STREAMS", "STREAMS", "STREAMS", "STREAMS"])
            #expect(throws: Never.self, "\(name)") { try command.slot() }
        }
    }

    /// A command is never sent to a node that may be the wrong one.
    @Test func `what has no one slot is refused`() {
        let script = RedisScript(name: "s", keys: ["one", "other"], takesRest: true, body: "return 1")
        let keyless = RedisScript(name: "k", keys: [], body: "return 1")
        let refused: [(RedisCommand, String)] = [
            (RedisCommand("PING"), "PING"), (RedisCommand("SCAN", ["0"]), "SCAN"),
            (RedisCommand("FLUSHALL"), "FLUSHALL"),
            (RedisCommand("BRANDNEW", ["foo"]), "BRANDNEW"), (RedisCommand("GET"), "fewer keys"),
            (RedisCommand("DEL", ["foo", "bar"]), "foo and bar"), (RedisCommand(keyless, keys: [:]), "no key"),
            (
                RedisCommand(script, keys: ["one": RedisKey("ll:{a}"), "other": RedisKey("ll:{b}")]),
                "ll:{a} and ll:{b}"
            ),
        ]
        for (command, words) in refused {
            do throws(RedisError) {
                Issue.record("\(words): \(try command.slot())")
            } catch {
                #expect("\(error)".contains(words) && "\(error)".hasPrefix("no node of the Redis cluster"))
            }
        }
    }

    @Test func `redirections are read`() {
        let node = RedisAddress.tcp(host: "10.0.0.1", port: 6379)
        func read(_ text: String) -> Redirection? { Redirection(RedisError(reply: text), from: node) }
        let moved = read("MOVED 3999 127.0.0.1:6381")
        #expect(moved?.slot == HashSlot(3_999) && moved?.address == .tcp(host: "127.0.0.1", port: 6381))
        #expect(moved?.isAsking == false)
        let asked = read("ASK 3999 ::1:6381")
        #expect(asked?.address == .tcp(host: "::1", port: 6381) && asked?.isAsking == true)
        // A node that does not know its own address means the node that was asked.
        #expect(read("ASK 3999 :6381")?.address == .tcp(host: "10.0.0.1", port: 6381))
        for text in ["ASK 3999 ?:6381", "MOVED 16384 a:1", "MOVED", "ASK 1 a", "ERR MOVED 1 a:1"] {
            #expect(read(text) == nil, "\(text)")
        }
    }
}
