import Foundation
import TestSupport
import Testing

/// Output that stdout does not take: on a full disk, past a limit of the file's size, after the reader of a pipe left.
@Suite("Output that is lost")
struct LostOutputTests {
    /// Runs the program by a line of sh, in which `lamplighter` is the built one.
    private func shell(_ deployment: Deployment, _ line: String) async throws -> Program.Output {
        let program = try Program(
            ["sh", "-c", "lamplighter() { \(Program.path) \"$@\"; }\n\(line)"], directory: deployment.directory,
            environment: deployment.environment)
        let output = await program.end(within: .seconds(600))
        return try #require(output, "\(line) does not end")
    }

    @Test func `an error of stdout is one line and exit code 1, and a closed pipe is quiet`() async throws {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_EVENTS_KEEP": "1000"])
        #expect(try await deployment.importChannels(3_000, name: "match-42").code == 0)
        let full = "lamplighter: cannot write to stdout: No space left on device\n"

        for command in [
            "export match-42", "status", "activity match-42 --json", "--help", "help publish",
            "--version", "credential list", "doctor", "simulate --json --port 0", "credential hash feed --json",
            "settings",
        ] {
            let output = try await shell(deployment, "lamplighter \(command) >/dev/full")
            #expect(output.code == 1 && output.err.hasSuffix(full), "\(command): \(output)")
        }
        let closed = try await shell(deployment, "lamplighter export match-42 >&-")
        #expect(closed.code == 1, "\(closed)")
        #expect(closed.err == "lamplighter: cannot write to stdout: Bad file descriptor\n")
        let large = try await shell(deployment, "(ulimit -f 64; lamplighter export match-42 >large.ndjson)")
        #expect(large.code == 1 && large.err == "lamplighter: cannot write to stdout: File too large\n", "\(large)")

        // The second program tells the first one's exit code.
        for command in ["export match-42", "events --all", "--help"] {
            let output = try await shell(deployment, "{ lamplighter \(command); echo $? >&2; } | true")
            #expect(output.code == 0 && output.err == "0\n", "\(command): \(output)")
        }
    }

    @Test func `a command that changed something says so`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await deployment.importChannels(1, name: "match-42").code == 0)
        func told(_ command: String) async throws -> String {
            let output = try await shell(deployment, "lamplighter \(command) >/dev/full")
            #expect(output.code == 1, "\(command): \(output)")
            return output.err
        }
        let lost = "lamplighter: cannot write to stdout: No space left on device\n"
        let credential = try await told("credential create feed --scopes read")
        #expect(
            credential == lost + "             the credential is made, its secret is lost: "
                + "lamplighter credential rotate feed --keep 0\n")
        #expect(try await deployment.run("credential", "list").out.contains("feed"))
        let push = try await told("publish match-42 --content-state '{}'")
        #expect(push == lost + "             the gateway has made the change: look before you repeat it\n")
        #expect(try await told("publish match-42 --content-state '{}' --dry-run") == lost)
        #expect(try await told("credential list") == lost)
    }
}
