import Foundation
import TestSupport
import Testing

/// What a person at a terminal gets and a script does not: questions, and tables that fit.
@Suite("On a terminal")
struct TerminalStoryTests {
    /// Commands that nobody can undo, each with a part of its question.
    static let asking = [
        (["untrack", "match-42", "--all"], "Remove 3 channels from match-42?"),
        (
            ["publish", "match-42", "--event", "end"],
            "End the cards of match-42 (3 tokens)? It cannot be taken back, and"
        ),
        (
            ["publish", "match-42", "--event", "end", "--audience", "channel:\(Deployment.channel(1))"],
            "(1 token)? It cannot be taken back."
        ),
        (["quarantine", "discard", "--all"], "Prune 0 tokens of 0 names?"),
        (["quarantine", "discard", "match-42"], "Prune the tokens of match-42?"),
        (["events", "discard", "--all"], "Delete 0 dead events?"),
        (["forget", Deployment.channel(0), Deployment.channel(1)], "Forget 2 channels?"),
        (["forget", "--user", "user-7"], "Forget 0 channels of 1 named user?"),
        (["broadcast", "delete", "match-42"], "Delete the broadcast channel of match-42?"),
        (["schema", "delete", "MatchAttributes"], "Delete the schema of MatchAttributes?"),
        (["credential", "revoke", "feed"], "Revoke feed?"),
        (["dead", "drop", "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10"], "Drop the dead letter with its tokens?"),
        (["schedule", "delete", "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10"], "Delete the schedule 0b7c6f0e-"),
        (["push", "0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10", "--cancel"], "Cancel push 0b7c6f0e-"),
    ]

    @Test func `a change that nobody can undo asks a person, with the count`() async throws {
        let deployment = try await Deployment.start()
        #expect(try await deployment.importChannels(3, name: "match-42").code == 0)
        for (command, question) in Self.asking {
            for typed in ["n\n", "\n", "\u{4}"] {
                let refused = try await deployment.typed(typed, command)
                #expect(refused.code == 1, "\(command): \(refused)")
                #expect(
                    refused.out.contains(question) && refused.out.contains("lamplighter: nothing was "), "\(refused)")
            }
        }
        let activity = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/match-42").json
        #expect(activity["tokens"] as? Int == 3 && activity["ended"] as? Bool == false, "\(activity)")

        let removed = try await deployment.typed("y\n", ["untrack", "match-42", "--all"])
        #expect(
            removed.code == 0 && removed.out.hasSuffix("3 channels do not follow match-42 any more\n"), "\(removed)")
    }

    @Test func `a yes is given beforehand, and a script is not asked`() async throws {
        let deployment = try await Deployment.start()
        let said = try await deployment.typed("", ["untrack", "match-42", "--all", "--yes"])
        #expect(said.code == 0 && !said.out.contains("y/N"), "\(said)")
        #expect(try await deployment.run("publish", "match-42", "--event", "end").code == 0)
        // `id=$(lamplighter publish … --event end)` in a script that a person has started.
        let file = deployment.directory + "/id"
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        let saved = try await deployment.typed(
            "", ["publish", "match-43", "--event", "end"], saved: handle.fileDescriptor)
        #expect(saved.code == 0 && !saved.out.contains("y/N"), "\(saved)")
        // An update is not asked about, and an end for later can be deleted.
        for command in [
            ["--content-state", "{}"], ["--event", "end", "--at", "+2h"], ["--event", "end", "--dry-run"],
        ] {
            let output = try await deployment.typed("", ["publish", "match-44"] + command)
            #expect(output.code == 0 && !output.out.contains("y/N"), "\(output)")
        }
    }

    @Test(arguments: [40, 80, 200] as [UInt16]) func `no list is wider than the terminal`(columns: UInt16) async throws
    {
        let deployment = try await Deployment.start()
        let name = "match-" + String(repeating: "決勝", count: 40)
        var ids: [String] = []
        for name in ["match-42", name] {
            #expect(try await deployment.importChannels(3, name: "x").code == 0)
            let output = try await deployment.run("publish", name, "--content-state", "{}")
            ids.append(output.out.trimmingCharacters(in: .whitespacesAndNewlines))
            #expect(try await deployment.run("publish", name, "--content-state", "{}", "--at", "+2h").code == 0)
        }
        let scopes = "publish,track,read,operate"
        for id in ["feed", "desk"] {
            #expect(
                try await deployment.run(
                    "credential", "create", id, "--scopes", scopes, "--name-prefix", "match-", "--expires", "90d"
                ).code == 0)
        }
        for command in [
            "history", "history \(name)", "activity", "schedule list", "actions",
            "credential list",
        ] {
            let words = command.split(separator: " ").map(String.init)
            let screen = try await deployment.typed("", words, columns: columns).out
            for line in screen.split(separator: "\n") where !line.hasPrefix("not shown: ") && !line.hasPrefix("more: ")
            {
                #expect(
                    line.reduce(0) { $0 + ($1.isASCII || $1 == "…" ? 1 : 2) } <= Int(columns) + 1, "\(command): \(line)"
                )
            }
            let whole = try await deployment.run(words).out
            // The names are short enough.
            let fits = command == "activity"
            #expect(columns > 40 || fits || screen != whole, "\(command)")
            #expect(command.hasPrefix("history \(name)") || whole.contains("match-42") || words[0] != "history")
        }
        // An id stays whole, because people copy it.
        if columns >= 80 {
            let history = try await deployment.typed("", ["history"], columns: columns).out
            #expect(ids.allSatisfy(history.contains), "\(history)")
        }
        #expect(try await deployment.typed("", ["history", "--json"], columns: columns).out.contains(name))
    }
}

extension Deployment {
    fileprivate func typed(
        _ text: String, _ arguments: [String], columns: UInt16 = 80, saved: Int32? = nil
    ) async throws -> ChildProcess.Output {
        try await PseudoTerminal.run(
            [Program.path] + arguments, environment: environment, typed: text, columns: columns, saved: saved)
    }
}
