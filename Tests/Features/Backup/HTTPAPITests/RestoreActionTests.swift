import Store
import Testing

extension ActionWordsTests {
    @Test func `a restore is in the log without a call`() async throws {
        try await Self.expect(.restore(on: "machine-1"), "restore", of: "cli", on: "machine-1")
    }
}
