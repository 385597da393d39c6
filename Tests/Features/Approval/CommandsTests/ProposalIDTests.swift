import ArgumentParser
import Testing

@testable import Commands

@Suite struct ProposalIDTests {
    @Test(arguments: [
        ["show", "match-42"], ["approve", "match-42", "--request", "r"], ["reject", "match-42"],
        ["withdraw", "match-42"],
    ])
    func `a name in the place of a proposal's id is called so`(arguments: [String]) async throws {
        let parsed = try await Lamplighter.asyncParseAsRoot(["approval"] + arguments)
        let command = try #require(parsed as? any CheckedCommand)
        let error = #expect(throws: ValidationError.self) { try command.check() }
        #expect(error?.message.contains("'match-42' is no proposal id, which is a UUID") == true)
    }
}
