import Foundation
import TestSupport
import Testing

/// A publish that needs a second person, by the command line of both.
@Suite struct ApprovalStoryTests {
    private struct Made: Decodable { var secret: String }
    private struct Listed: Decodable {
        var proposals: [Waiting]
        struct Waiting: Decodable {
            var id, request: String
        }
    }

    @Test func `one asks, cannot decide alone; the other approves what was seen, or rejects, and each exit code tells`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        _ = try await deployment.importChannels(2, name: "match-1")
        func person(_ id: String, _ scopes: String) async throws -> [String: String] {
            let made = try await deployment.run("credential", "create", id, "--scopes", scopes, "--json")
            try #require(made.code == 0, "\(made)")
            let secret = try JSONDecoder().decode(Made.self, from: Data(made.out.utf8)).secret
            return ["LAMPLIGHTER_APP_MASTER_SECRET": secret]
        }
        let anna = try await person("anna", "propose,read")
        let ben = try await person("ben", "approve,read")
        func ask(_ goals: Int) async throws -> (id: String, request: String) {
            let asked = try await deployment.run(
                "publish", "match-1", "--content-state", "{\"home\":\(goals)}", environment: anna)
            #expect(asked.code == 0 && asked.err.contains("nothing is sent before its approval"), "\(asked)")
            let list = try await deployment.run(
                "approval", "list", "--json", environment: ben)
            let waiting = try JSONDecoder().decode(Listed.self, from: Data(list.out.utf8)).proposals
            try #require(waiting.count == 1, "\(list)")
            return (waiting[0].id, waiting[0].request)
        }
        func accepted() async throws -> Int { try await deployment.record()["accepted"] as? Int ?? -1 }

        let first = try await ask(1)
        let alone = try await deployment.run(
            "approval", "approve", first.id, "--request", first.request, environment: anna)
        #expect(alone.code == 1 && alone.err.contains("approve"), "\(alone)")
        // Seen before an edit: another request than the one that waits.
        let stale = try await deployment.run(
            "approval", "approve", first.id, "--request", Deployment.channel(7), environment: ben)
        #expect(stale.code == 1 && stale.err.contains("request"), "\(stale)")
        #expect(try await accepted() == 0)
        let approved = try await deployment.run(
            "approval", "approve", first.id, "--request", first.request, environment: ben)
        #expect(approved.code == 0 && approved.out == "approved publish of match-1\n", "\(approved)")
        try await eventually("both devices have it") { try await accepted() == 2 }

        let second = try await ask(2)
        // The first one was published since.
        let overtaken = try await deployment.run(
            "approval", "approve", second.id, "--request", second.request, "--after", "none", environment: ben)
        #expect(overtaken.code == 1 && overtaken.err.contains("the newest push of the name is"), "\(overtaken)")
        let rejected = try await deployment.run(
            "approval", "reject", second.id, "--reason", "the score is 3:1", environment: ben)
        #expect(rejected.code == 0 && rejected.out == "rejected publish of match-1\n", "\(rejected)")
        let late = try await deployment.run(
            "approval", "approve", second.id, "--request", second.request, environment: ben)
        #expect(late.code == 1 && late.err.contains("ben"), "\(late)")
        let shown = try await deployment.run("approval", "show", second.id, environment: anna)
        #expect(shown.code == 0 && shown.out.contains(/decided by +ben/), "\(shown)")
        #expect(shown.out.contains("rejected: the score is 3:1"), "\(shown)")
        let none = try await deployment.run("approval", "list", environment: ben)
        #expect(none.code == 0 && !none.out.contains(second.id), "\(none)")
        #expect(try await accepted() == 2)
        let third = try await ask(3)
        let withdrawn = try await deployment.run("approval", "withdraw", third.id, environment: anna)
        #expect(withdrawn.code == 0, "\(withdrawn)")
        let over = try await deployment.run("approval", "list", "--over", environment: ben)
        #expect(over.code == 0 && over.out.contains(/withdrawn/), "\(over)")
    }
}
