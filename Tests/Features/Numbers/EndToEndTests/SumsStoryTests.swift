import Foundation
import TestSupport
import Testing

/// `lamplighter sums`, with the real programs. Redis's clock goes on by hours and days.
@Suite("Sums of pushes")
struct SumsStoryTests {
    /// Publishes to so many names.
    private func publish(_ names: Int, _ deployment: Deployment) async throws {
        for number in 0..<names {
            let output = try await deployment.run(
                "publish", "match-\(number)", "--content-state", #"{"score":"2:1"}"#, "--wait", "--fail-below", "0")
            #expect(output.code == 0, "\(output)")
        }
    }

    private func sums(_ deployment: Deployment, _ arguments: String...) async throws -> String {
        let output = try await deployment.run(["sums"] + arguments)
        #expect(output.code == 0, "\(output)")
        return output.out
    }

    @Test func `the sums of last week outlive its pushes, and a worker that is killed`() async throws {
        let clock = try TestClock()
        let deployment = try await Deployment.start(clock: clock)
        let first = try await deployment.worker("one")
        try await publish(2, deployment)
        var today = ""
        // An open hour is added up anew every half minute.
        try await eventually("the pushes are added up") {
            today = try await sums(deployment, "--json")
            return today.contains(#""pushes":2,"#)
        }
        let row = try #require(today.firstMatch(of: /"at":"([^"]+)","pushes":2,/), "\(today)")
        let date = try #require(ISO8601DateFormatter().date(from: String(row.1).replacing(".000Z", with: "Z")))
        let day = Int(date.timeIntervalSince1970) / 86_400
        first.kill()
        clock.step(.seconds(26 * 3_600))
        let second = try await deployment.worker("two")
        defer { second.kill() }
        try await eventually("the hour is closed") {
            try deployment.redis.command(#"HEXISTS ll:su:{shop}:d:\#(day) "update ios""#) == ":1"
        }
        clock.step(.seconds(8 * 86_400))
        #expect(try await deployment.run("history").out.contains("no pushes"))
        let from = String(row.1.prefix(10)) + "T00:00:00"
        #expect(try await sums(deployment, "--json", "--from", from).contains(#""pushes":2,"#))
        let names = try await sums(deployment, "--by", "name", "--from", from)
        #expect(names.contains("match-0") && names.contains("match-1"), "\(names)")
        let file = try await sums(deployment, "--csv", "--from", from).split(separator: "\n")
        #expect(file.count == 2 && file[0].hasPrefix("at,pushes,targets,delivered,"), "\(file)")
        #expect(file[1].hasPrefix("\(row.1),2,"), "\(file)")
        let both = try await deployment.run("sums", "--csv", "--json")
        #expect(both.code != 0 && both.err.contains("exclude each other"), "\(both)")
        #expect(try await sums(deployment, "match-1", "--by", "hour", "--from", from).contains("PUSHES"))
    }
}
