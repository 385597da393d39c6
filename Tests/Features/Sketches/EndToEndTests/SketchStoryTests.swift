import Foundation
import TestSupport
import Testing

/// `lamplighter sketch`, with the real programs.
struct SketchStoryTests {
    @Test func `sketches are made, listed and removed`() async throws {
        let deployment = try await Deployment.start()
        let file = deployment.directory + "/match.sketch.json"
        try #"{"card":{"columns":[{"text":"{home}"},{"text":"{away}"}]}}"#.write(
            toFile: file, atomically: false, encoding: .utf8)
        func run(_ arguments: String...) async throws -> String {
            let output = try await deployment.run(arguments)
            #expect(output.code == 0, "\(arguments): \(output)")
            return output.out
        }
        _ = try await run("sketch", "set", "MatchAttributes", file)
        #expect(try await run("sketch", "list").contains("MatchAttributes"))
        #expect(try await run("sketch", "show", "MatchAttributes").contains(#""{home}""#))
        _ = try await run("sketch", "delete", "MatchAttributes")
        #expect(try await run("sketch", "list") == "no sketches\n")
        try "{\n  \"card\": {\"rows\": 7}\n}".write(toFile: file, atomically: false, encoding: .utf8)
        let wrong = try await deployment.run("sketch", "set", "MatchAttributes", file)
        #expect(wrong.code == 1 && wrong.err.contains("card"), "\(wrong)")
    }
}
