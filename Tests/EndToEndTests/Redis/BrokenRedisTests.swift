import Foundation
import Redis
import TestSupport
import Testing

/// Servers that cannot do what is needed, or may not. `doctor` and a start name each, before a publisher meets it.
@Suite struct BrokenRedisTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var what: String
        /// Rules of ACL SETUSER that are left out of the documented line, and rules behind it.
        var without: [String] = []
        var rules: [String] = []
        /// Answers in place of Redis's.
        var answers: [String: String] = [:]
        var words: [String]
        var startGoesOn = false
        var testDescription: String { what }
    }

    private static let old = "# Server\r\nredis_version:5.0.14\r\nmaxmemory_policy:noeviction\r\n"
    private static let silent = "# Server\r\nredis_version:7.2.0\r\nmaxmemory_policy:\r\n"

    static let cases = [
        Case(
            what: "no transactions", without: ["+@transaction"],
            words: ["MULTI with EXEC is refused", "+@transaction"]),
        Case(what: "no scripts", without: ["+@scripting"], words: ["EVALSHA is refused", "+@scripting"]),
        Case(what: "no time", without: ["+time"], words: ["TIME in a script is refused", "TIME is refused", "+time"]),
        Case(
            what: "no reads of streams", rules: ["-xreadgroup"],
            words: ["XREADGROUP with BLOCK is refused", "xreadgroup"]),
        Case(what: "other keys", without: ["~ll:*"], rules: ["~other:*"], words: ["is refused", "~ll:*"]),
        Case(
            what: "an old Redis",
            answers: [
                "INFO": bulk(old), "XAUTOCLAIM": "-ERR unknown command `XAUTOCLAIM`, with args beginning with: `ll:`",
            ], words: ["Redis 5.0.14; install Redis 6.2 or later", "XAUTOCLAIM is refused"]),
        Case(
            what: "scripts are switched off",
            answers: ["EVALSHA": "-ERR no scripts here", "SCRIPT": "-ERR no scripts here"],
            words: ["EVALSHA is refused (ERR no scripts here)"]),
        Case(
            what: "scripts may use declared keys alone",
            answers: ["EVALSHA": "-ERR script tried accessing undeclared key"],
            words: ["EVALSHA is refused", "undeclared key", "Redis 6.2 or later, or Valkey"]),
        Case(
            what: "no blocking reads", answers: ["XREADGROUP": "-ERR BLOCK is not supported"],
            words: ["XREADGROUP with BLOCK is refused (ERR BLOCK is not supported)"]),
        Case(
            what: "a policy without a name",
            answers: ["INFO": bulk(silent), "CONFIG": "-ERR unknown command 'CONFIG'"],
            words: ["does not tell its policy"], startGoesOn: true),
        Case(
            what: "no interruption of reads", rules: ["-client|unblock"],
            words: ["CLIENT is refused", "+client|unblock"],
            startGoesOn: true),
    ]

    private static func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)" }

    @Test(arguments: cases)
    func `doctor and a start name the command and the right`(_ given: Case) async throws {
        let server = try await RedisServer.start(tcp: true)
        let proxy = try RedisProxy(to: server)
        for (command, reply) in given.answers { proxy.answer(command, with: reply) }
        let admin = RedisClient(url: server.socketURL, logger: .quiet)
        let documented = try HostedRedisTests.rights()
        let rights = documented.filter { !given.without.contains($0) } + given.rules
        let password = try #require(rights.first { $0.hasPrefix(">") }).dropFirst()
        try await admin.send(RedisCommand("ACL", (["SETUSER"] + rights).map { .string($0) }))
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await newKey("P-256").write(toFile: directory + "/good.p8", atomically: false, encoding: .utf8)
        let place = "\(proxy.url)".trimmingPrefix("redis://")
        let environment = BadStartTests.app.merging([
            "LAMPLIGHTER_REDIS_URL": "redis://lamplighter:\(password)@\(place)",
            "LAMPLIGHTER_APNS_URL": "https://127.0.0.1:9", "LAMPLIGHTER_APNS_KEY_FILE": "good.p8",
        ]) { $1 }

        let doctor = try Program([Program.path, "doctor"], directory: directory, environment: environment)
        let checked = try #require(await doctor.end(within: .seconds(120)))
        for word in given.words {
            // A finding and its remedy stand on two lines there.
            for part in word.split(separator: "; ") { #expect(checked.out.contains(part), "\(part): \(checked.out)") }
        }
        if !given.startGoesOn { #expect(checked.code == 78, "\(checked.out)") }

        for arguments in [["serve", "--port", "0"], ["work"]] {
            let program = try Program([Program.path] + arguments, directory: directory, environment: environment)
            if given.startGoesOn {
                try await program.waitForLog(arguments[0] == "serve" ? "listening" : "ready for work")
                program.signal(SIGTERM)
            }
            let output = try #require(await program.end(within: .seconds(120)))
            #expect(output.code == (given.startGoesOn ? 0 : 78), "\(arguments): \(output.err)")
            for word in given.words { #expect(output.err.contains(word), "\(arguments): \(word): \(output.err)") }
        }
        await admin.close()
        proxy.stop()
        server.stop()
    }

    @Test func `commands that read Redis themselves name a missing right too`() async throws {
        let server = try await RedisServer.start(
            tcp: true, extra: ["--user", "lamp", "on", ">secret", "~ll:*", "+ping"])
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let environment = BadStartTests.app.merging([
            "LAMPLIGHTER_REDIS_URL": "redis://lamp:secret@127.0.0.1:\(try #require(server.port))"
        ]) { $1 }
        try await newBackup(directory, environment)
        for arguments in [["status"], ["backup", "all.backup"], ["restore", "empty.backup"], ["reload"]] {
            let program = try Program([Program.path] + arguments, directory: directory, environment: environment)
            let output = try #require(await program.end(within: .seconds(120)))
            #expect(output.code == 78 && output.err.contains("NOPERM"), "\(arguments): \(output.code) \(output.err)")
            #expect(output.err.contains("ACL"), "\(arguments): \(output.err)")
        }
        server.stop()
    }

    /// A backup of nothing, from a server that allows everything.
    private func newBackup(_ directory: String, _ environment: [String: String]) async throws {
        let whole = try await RedisServer.start(tcp: true)
        let own = environment.merging(["LAMPLIGHTER_REDIS_URL": "\(whole.tcpURL)"]) { $1 }
        let backup = try Program(
            [Program.path, "backup", "empty.backup"], directory: directory, environment: own)
        #expect(await backup.end(within: .seconds(120))?.code == 0, "\(backup.err)")
        whole.stop()
    }
}
