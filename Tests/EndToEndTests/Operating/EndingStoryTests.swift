import Foundation
import Store
import TestSupport
import Testing

/// An operator reads in the logs what became of each push.
@Suite("The line of a push at its end")
struct EndingStoryTests {
    /// The lines of ended pushes, by push id.
    private func lines(_ log: String) throws -> [String: [[String: Any]]] {
        let objects = try log.split(separator: "\n").map { line in
            try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "no JSON: \(line)")
        }
        let ends = objects.filter { $0["message"] as? String == "push ended" }
        return Dictionary(grouping: ends) { $0["push"] as? String ?? "" }
    }

    private func number(_ line: [String: Any], _ field: String) -> Int? {
        (line[field] as? String).flatMap { Int($0) } ?? line[field] as? Int
    }

    @Test func `each push has one line with its sizes, times and outcome, and no token is in any line`() async throws {
        let deployment = try await Deployment.start(simulator: ["--dead-share", "0.1"])
        let worker = try await deployment.worker("one", ["LAMPLIGHTER_LOG_FORMAT": "json"])
        defer { worker.kill() }
        #expect(try await deployment.importChannels(500, name: "match-42").code == 0)
        #expect(try await deployment.importChannels(1, name: "order-7").code == 0)
        var ledgers: [Ledger] = []
        for name in ["match-42", "order-7", "nobody-follows"] {
            ledgers.append(try await deployment.published(name, ["--content-state", #"{"home":1}"#]))
        }
        // Two that nobody sends, without a worker: a newer one supersedes the first, and the second is cancelled.
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
        let old = try await deployment.publish("order-7")
        let new = try await deployment.publish("order-7")
        let cancelled = try await deployment.call("DELETE", "\(deployment.gatewayURL)/api/push/\(new)")
        #expect(cancelled.status == 200, "\(cancelled.text)")

        for ledger in ledgers {
            let push = try #require(ledger.fields["push_id"] as? String)
            try await eventually("the worker tells of \(push)") { worker.err.contains(push) }
            let found = try lines(worker.err)[push] ?? []
            #expect(found.count == 1, "\(found)")
            let line = try #require(found.first)
            #expect(line["level"] as? String == "info" && line["state"] as? String == "done", "\(line)")
            #expect(line["name"] as? String == ledger.fields["name"] as? String && line["app"] as? String == "shop")
            for field in ["targets", "delivered"] { #expect(number(line, field) == ledger[field], "\(line)") }
            #expect(number(line, "pruned") ?? 0 == ledger["pruned"], "\(line)")
            let bytes = try #require(number(line, "bytes"))
            #expect(bytes > 20 && number(line, "ms") != nil, "\(line)")
            #expect(deployment.gateway.err.contains("push=\(push)"), "the request of the publish names it too")
        }
        #expect(ledgers[0]["pruned"] > 0, "the simulator calls some tokens dead")
        try await eventually("the gateway tells of the two") {
            deployment.gateway.err.contains("state=superseded") && deployment.gateway.err.contains("state=cancelled")
        }
        let told = deployment.gateway.err.split(separator: "\n").filter { $0.contains(": push ended ") }
        let expected = [(old, "superseded"), (new, "cancelled")]
        #expect(told.count == expected.count, "\(told)")
        for ((push, state), line) in zip(expected, told) {
            #expect(line.contains(" push=\(push)") && line.contains(" state=\(state)"), "\(line)")
            #expect(line.contains(" name=order-7 ") && line.contains(" app=shop "), "\(line)")
        }
        #expect(told[0].contains(" superseded_by=\(new)"))
        for log in [worker.err, deployment.gateway.err] {
            for number in 0..<500 { #expect(!log.contains(Deployment.token(number).prefix(16))) }
            #expect(!log.contains("shop-master") && !log.contains("shop-secret"))
        }
    }

    @Test func `the line reads well as text`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        #expect(try await deployment.importChannels(1, name: "order-7").code == 0)
        let ledger = try await deployment.published("order-7", ["--content-state", #"{"status":"baking"}"#])
        let push = try #require(ledger.fields["push_id"] as? String)
        try await eventually("the worker tells of it") { worker.err.contains(push) }
        let line = try #require(worker.err.split(separator: "\n").first { $0.contains("push ended") })
        let form = #/\S+Z info \S+: push ended app=shop .*delivered=1 .*event=update ms=\d+ name=order-7 .*targets=1.*/#
        #expect(line.wholeMatch(of: form) != nil, "\(line)")
    }
}
