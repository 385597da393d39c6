import Foundation
import TestSupport
import Testing

/// Tests the class that starts the servers and programs of all other tests.
@Suite struct ChildProcessTests {
    @Test func `what it writes and how it ended are told`() async throws {
        let output = try await ChildProcess.run(["sh", "-c", "echo \"$WORD\"; exit 3"], environment: ["WORD": "lamp"])
        #expect(output.code == 3)
        #expect(output.out == "lamp\n")
        let killed = try await ChildProcess.run(["sh", "-c", "kill -9 $$"])
        #expect(killed.code == 128 + SIGKILL)
    }

    /// A child that kept another child's pipe open would block the reader of that pipe.
    @Test func `no descriptor of ours gets there`() async throws {
        let pipes = (0..<1_500).map { _ in Pipe() }
        let output = try await ChildProcess.run(["sh", "-c", "ls /proc/$$/fd | sort -n | tail -n 1"])
        let last = try #require(Int(output.out.dropLast()))
        // The shell's own descriptors may go up to 10.
        #expect(last < 20)
        #expect(pipes.count == 1_500)
    }

    @Test func `a program that is not there is named`() async throws {
        let error = await #expect(throws: ChildProcess.NotStarted.self) {
            try await ChildProcess.run(["lamplighter-no-such-program"])
        }
        #expect(error?.description == "lamplighter-no-such-program: No such file or directory")
    }

    @Test func `a wait that is given up ends at once`() async throws {
        let pipe = Pipe()
        let child = try ChildProcess(["cat"], input: pipe.fileHandleForReading.fileDescriptor)
        let waiting = Task { await child.wait() }
        waiting.cancel()
        await waiting.value
        #expect(child.code == nil)
        try pipe.fileHandleForWriting.close()
        await child.wait()
        #expect(child.code == 0)
    }
}
