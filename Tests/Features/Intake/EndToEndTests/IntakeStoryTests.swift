import TestSupport
import Testing

/// The intake, with the real programs.
struct IntakeStoryTests {
    @Test func `status tells of an intake that nobody reads`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await !deployment.run("status").out.contains("intake"))
        for _ in 0..<2 { _ = try deployment.redis.command("XADD ll:in:{shop} * push {}") }
        let status = try await deployment.run("status")
        #expect(
            status.out.contains("! app shop: 2 entries of the intake without an answer, the first "), "\(status.out)")
        let json = try await deployment.run("status", "--json")
        #expect(json.out.contains(#""intake":{"waiting":2,"oldest_ms":"#), "\(json.out)")
    }
}
