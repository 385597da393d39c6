import Testing

@testable import Store

@Suite struct ReloadRequestsTests {
    /// A process answers only the newest request, as an older version does too.
    @Test func `what a process reads for a newer request answers the open ones before it`() async throws {
        let fixture = try await PushFixture.start()
        let reloads = fixture.store.reloads
        let first = try await reloads.ask().id
        try await reloads.answer(first, "one", ReloadAnswer(process: "gateway", applied: ["a"]))
        let (second, third) = (try await reloads.ask().id, try await reloads.ask().id)
        #expect(try await reloads.look("one", "gateway", renews: true) == third)
        #expect(try await reloads.answers(first).keys.sorted() == ["one"])
        #expect(try await reloads.answers(second) == [:], "an answer from before it was asked is none")
        try await reloads.answer(third, "one", ReloadAnswer(process: "gateway", applied: ["b"]))
        try await reloads.answer(third, "two", ReloadAnswer(process: "worker"))
        #expect(try await reloads.answers(first).mapValues(\.applied) == ["one": ["a"], "two": []])
        for id in [second, third] {
            #expect(try await reloads.answers(id).mapValues(\.applied) == ["one": ["b"], "two": []])
        }
    }
}
