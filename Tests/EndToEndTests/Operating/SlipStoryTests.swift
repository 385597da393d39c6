import Foundation
import TestSupport
import Testing

/// The command line as a person meets it who misspells, swaps and forgets.
@Suite("Slips on the command line")
struct SlipStoryTests {
    @Test func `each slip is answered with what to do, and changes nothing`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        #expect(try await deployment.importChannels(3, name: "match-42").code == 0)
        let file = deployment.directory + "/more.ndjson"
        try #"{"channel":"device-1","token":"aa"}"#.appending("\n{}\n").write(
            toFile: file, atomically: false, encoding: .utf8)
        func says(_ words: String, _ arguments: String..., code: Int32) async throws {
            let output = try await deployment.run(arguments)
            #expect(output.code == code && (output.out + output.err).contains(words), "\(arguments): \(output)")
        }

        try await says(
            "1 line would be applied, 1 line rejected", "import", "--name", "cup", "--dry-run", file, code: 1)
        try await says("This name has no followers", "activity", "cup", code: 1)
        try await says("the channel device-1 is not known here", "explain", "match-42", "device-1", code: 0)
        try await says("did you mean 'explain match-42 device-1'?", "explain", "device-1", "match-42", code: 0)
        try await says(#"similar names with followers: "match-42""#, "history", "match-43", code: 0)
        try await says("'lamplighter history match-42' lists", "push", "match-42", code: 64)
        try await says("is no push id, which is a UUID", "dead", "show", "match-42", code: 64)
        let explained = try await deployment.run("explain", "match-42", "device-1")
        #expect(explained.out.contains("would not get the next update"), "\(explained)")
        try await says("'lamplighter pause --list' shows what is", "resume", "match-42", code: 1)
        try await says(
            "nobody who follows match-42 fits the audience tag:nobody", "publish", "match-42", "--content-state", "{}",
            "--audience", "tag:nobody", "--wait", code: 1)
        try await says("no setting has that in its name", "settings", "nonsense", code: 0)
        try await says("limits.names ", "settings", "limits.", code: 0)

        // A shell asks so when somebody presses Tab.
        let asked = ["---completion", "publish", "--", "positional@0", "2", "2", "lamplighter", "publish", "ma"]
        #expect(try await deployment.run(asked).out == "match-42\n")
    }

    @Test func `a page that a portal gives with a 200 is no answer`() async throws {
        let portal = try HTTPSReceiver { _ in .status(200, body: Array("\n<html>Sign in</html>".utf8)) }
        let environment = [
            "LAMPLIGHTER_GATEWAY_URL": String(portal.url.dropLast("/hook".count)),
            "LAMPLIGHTER_GATEWAY_CA_FILE": portal.caFile, "LAMPLIGHTER_APP_KEY": "shop",
            "LAMPLIGHTER_APP_MASTER_SECRET": "shop-master",
        ]
        for command in [["credential", "revoke", "feed", "--yes"], ["credential", "list", "--json"]] {
            let program = try Program(
                [Program.path] + command, directory: try temporaryDirectory(), environment: environment)
            let output = try #require(await program.end())
            #expect(output.code == 1 && output.out.isEmpty, "\(output)")
            #expect(output.err.contains("the answer (200) is not the gateway's"), "\(output)")
        }
    }

    @Test func `credentials are made, listed and removed`() async throws {
        let deployment = try await Deployment.start()
        func run(_ arguments: String...) async throws -> String {
            let output = try await deployment.run(arguments)
            #expect(output.code == 0, "\(arguments): \(output)")
            return output.out
        }
        let made = try await run("credential", "create", "feed", "--scopes", "publish,read", "--name-prefix", "match-")
        let secret = try #require(made.split(whereSeparator: \.isWhitespace).first { $0.hasPrefix("feed.") })
        #expect(try await run("credential", "list").contains("match-"))
        #expect(try await !run("credential", "list").contains(secret))
        _ = try await run("credential", "revoke", "feed", "--yes")
        #expect(try await !run("credential", "list").contains("feed"))
    }
}
