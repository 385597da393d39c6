import Foundation
import TestSupport
import Testing

/// Outgoing events as an operator sets them up, with every process.
@Suite("What others are told")
struct EventStoryTests {
    @Test func `a push reaches the stream, and who follows it`() async throws {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_EVENTS_KEEP": "1000"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let follower = try Program(
            [Program.path, "events", "--all"], directory: deployment.directory, environment: deployment.environment)
        defer { follower.kill() }
        _ = try await deployment.importChannels(3, name: "match-1")
        let published = try await deployment.run("publish", "match-1", "--content-state", "{}", "--wait", "--json")
        #expect(published.code == 0, "\(published.err)")
        try await eventually("the follower prints it: \(follower.out)\(follower.err)") {
            follower.out.contains("  done  match-1  ") && follower.out.contains("targets 3, delivered 3")
        }
        let listed = try await deployment.run("events", "--all", "--no-follow", "--json")
        #expect(listed.code == 0 && listed.out.contains(#""type":"done","app":"shop""#), "\(listed)")
    }
}
