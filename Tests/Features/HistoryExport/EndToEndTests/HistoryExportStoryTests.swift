import Foundation
import Gzip
import TestSupport
import Testing

/// `archive` and `pushes.export`, with the real programs. Redis's clock goes on by hours.
@Suite("Export of the history")
struct HistoryExportStoryTests {
    /// A deployment, and pushes of some hours that have ended.
    private struct Story {
        let clock: TestClock
        let deployment: Deployment
        let worker: Program
        let directory: String
        private(set) var pushes: [String] = []

        init(_ environment: [String: String] = [:]) async throws {
            clock = try TestClock()
            deployment = try await Deployment.start(environment: environment, clock: clock)
            directory = deployment.directory + "/pushes"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            worker = try await deployment.worker("one", ["LAMPLIGHTER_PUSHES_EXPORT": ""])
        }

        /// Publishes to so many names, waits for the ends, and lets an hour pass.
        mutating func hour(_ names: Int) async throws {
            let bodies = (0..<names).map { number in
                #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":"#
                    + #"{"name":"match-\#(number)","event":"update","content_state":{"score":"2:1"}}}}}"#
            }
            let answer = try await deployment.call(
                "POST", deployment.gatewayURL + "/api/push", body: "[\(bodies.joined(separator: ","))]")
            #expect(answer.status == 202, "\(answer.text)")
            let ids = answer.json["push_ids"] as? [String] ?? []
            #expect(ids.count == names)
            pushes += ids
            for id in ids {
                let url = "\(deployment.gatewayURL)/api/push/\(id)"
                try await eventually("\(id) has ended") {
                    try await deployment.call("GET", url).json["state"] as? String == "done"
                }
            }
            clock.step(.seconds(3_600))
        }

        func exported() throws -> [String] {
            var ids: [String] = []
            for case let file as String in FileManager.default.enumerator(atPath: directory) ?? .init()
            where file.hasSuffix(".ndjson.gz") {
                var reader = GzipReader()
                let data = try Data(contentsOf: URL(fileURLWithPath: directory + "/" + file))
                let text = String(decoding: try reader.add(Array(data)), as: UTF8.self)
                let isWhole = reader.isWhole
                #expect(isWhole, "\(file)")
                ids += text.split(separator: "\n").compactMap { line in
                    (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["push_id"] as? String
                }
            }
            return ids.sorted()
        }
    }

    @Test func `the command exports what has ended, and says so`() async throws {
        var story = try await Story()
        defer { story.worker.kill() }
        for _ in 0..<3 { try await story.hour(3) }
        story.clock.step(.seconds(300))
        let first = try await story.deployment.run("archive", story.directory, "--json")
        #expect(first.code == 0, "\(first.err)")
        story.clock.step(.seconds(7_200))
        let second = try await story.deployment.run("archive", story.directory)
        #expect(second.code == 0 && second.out.hasPrefix("shop: "), "\(second)")
        #expect(try story.exported() == story.pushes.sorted())
        let third = try await story.deployment.run("archive", story.directory)
        #expect(third.out.hasPrefix("shop: 0 pushes in 0 files, all until 2"), "\(third)")

        let missing = try await story.deployment.run("archive", story.directory + "/none")
        #expect(missing.code == 78 && missing.err.contains("make the directory first"), "\(missing)")
    }

    @Test func `an export that is killed again and again writes each push once`() async throws {
        var story = try await Story()
        defer { story.worker.kill() }
        for _ in 0..<5 { try await story.hour(30) }
        story.clock.step(.seconds(7_500))
        var kills = 0
        while try story.exported().count < story.pushes.count, kills < 200 {
            let export = try Program(
                [Program.path, "archive", story.directory], directory: story.deployment.directory,
                environment: story.deployment.environment)
            // From before it has read its settings until after its end.
            try await Task.sleep(for: .milliseconds(Int.random(in: 10...(200 + 60 * kills))))
            export.signal(SIGKILL)
            _ = await export.end()
            kills += 1
            let exported = try story.exported()
            #expect(Set(exported).count == exported.count)
        }
        _ = try await story.deployment.run("archive", story.directory)
        #expect(try story.exported() == story.pushes.sorted(), "\(kills) kills")
        let own = try FileManager.default.contentsOfDirectory(atPath: story.directory + "/_lamplighter")
        #expect(own.sorted() == ["lock", "shop.json"])
    }

    @Test func `a disk that is full marks nothing as exported, and the next export has all`() async throws {
        var story = try await Story()
        defer { story.worker.kill() }
        try await story.hour(90)
        story.clock.step(.seconds(7_500))
        // No file may be longer than a block, and the signal for that is ignored, so a write fails as on a full disk.
        let full = try await story.deployment.shell(
            "trap '' XFSZ; ulimit -f 1; lamplighter archive '\(story.directory)'")
        #expect(full.code == 1, "\(full)")
        #expect(full.err.contains("cannot write \(story.directory)/_lamplighter/shop-00000001.part: "), "\(full)")
        #expect(full.err.contains("what is not in a complete file is exported the next time"), "\(full)")
        #expect(try story.exported() == [])
        #expect(try await story.deployment.run("archive", story.directory).code == 0)
        #expect(try story.exported() == story.pushes.sorted())
    }

    @Test func `an export that fails is an alarm, which ends with one that goes well`() async throws {
        let story = try await Story()
        defer { story.worker.kill() }
        let own = ["LAMPLIGHTER_PUSHES_EXPORT": story.directory + "/absent"]
        let second = try await story.deployment.worker("two", own)
        defer { second.kill() }
        try await eventually("the alarm") {
            let status = try await story.deployment.run("status").out
            return status.contains("export: two: ") && status.contains("make the directory first")
        }
        try FileManager.default.createDirectory(
            atPath: story.directory + "/absent", withIntermediateDirectories: true)
        second.kill()
        let third = try await story.deployment.worker("two", own)
        defer { third.kill() }
        // A new process does not know of the alarm, so it ends when nobody repeats it.
        try await eventually("an export") {
            FileManager.default.fileExists(atPath: story.directory + "/absent/_lamplighter")
        }
        story.clock.step(.seconds(16 * 60))
        try await eventually("no alarm") { try await !story.deployment.run("status").out.contains("export: two") }
    }

    @Test func `workers with pushes.export write a directory, one at a time, and go on after a kill`() async throws {
        var story = try await Story()
        try await story.hour(20)
        try await story.hour(20)
        story.clock.step(.seconds(7_500))
        let own = ["LAMPLIGHTER_PUSHES_EXPORT": story.directory]
        let first = try await story.deployment.worker("two", own)
        let second = try await story.deployment.worker("three", own)
        try await eventually("all are exported") { try story.exported().count == story.pushes.count }
        first.signal(SIGKILL)
        #expect(try story.exported() == story.pushes.sorted())
        for program in [story.worker, first, second] { program.kill() }
    }
}
