import TestSupport
import Testing

@testable import HTTPAPI

/// An answer tells the truth about what Redis has, wherever the connection to Redis breaks: a 2xx means that it is
/// kept, a refusal that nothing was, and where the fate is unknown the answer says that, and a repetition does it once.
@Suite struct AnswerTests {
    @Test func `every call that changes something is tried`() {
        let changing = Set(Endpoint.all.filter { $0.method != "GET" }.map { "\($0.method) \($0.pattern)" })
        #expect(Set(ChangingCall.all.map(\.endpoint)) == changing.subtracting(ChangingCall.unchanging))
    }

    @Test(arguments: ChangingCall.all)
    func `an answer is true wherever Redis goes away`(call: ChangingCall) async throws {
        try await AnswersFixture.run { fixture in
            var number = 0
            for fault in RedisProxy.Fault.allCases {
                var (passing, struck) = (0, true)
                while struck, passing < 100 {
                    number += 1
                    struck = try await strike(call, fault, after: passing, number, fixture)
                    passing += 1
                }
                #expect(passing > 1 && passing < 100, "the call sends no commands, or never the last one")
            }
        }
    }

    /// - Returns: false if the call sent too few commands for the fault.
    private func strike(
        _ call: ChangingCall, _ fault: RedisProxy.Fault, after passing: Int, _ number: Int, _ fixture: AnswersFixture
    ) async throws -> Bool {
        let prepared = try await call.prepare(fixture, number)
        func send() async throws -> Reply {
            try await fixture.gateway.send(
                call.method, prepared.path, prepared.body, user: prepared.user, headers: prepared.headers)
        }
        fixture.proxy.arm(fault, passing: passing)
        let first = try await send()
        let struck = fixture.proxy.disarm()
        let parts = try await prepared.count()
        let place = "\(call.testDescription), \(fault) after \(passing): \(parts) of \(prepared.parts), \(first.text)"
        switch first.status {
        case 200..<300: #expect(parts == prepared.parts, "it is not kept. \(place)")
        case 503:
            let text = try first.string("error")
            let saysNothing = text.contains("nothing was changed")
            let saysAll = text.contains("Redis has it") && text.contains("with the same Idempotency-Key")
            let doubts = text.contains("this was done, or a part of it, or nothing. Repeat it")
            #expect([saysNothing, saysAll, doubts].count { $0 } == 1, "\(place)")
            #expect(!saysNothing || parts == 0, "something was changed. \(place)")
            #expect(!saysAll || parts > 0, "it is not there. \(place)")
            // A first command that did not reach Redis has no fate to doubt.
            if passing == 0, fault == .refused { #expect(saysNothing, "\(place)") }
        default: Issue.record("\(place)")
        }
        var again = try await send()
        for _ in 0..<5 where again.status == 503 { again = try await send() }
        let mayRefuse = parts == prepared.parts ? call.repeated : []
        #expect((200..<300).contains(again.status) || mayRefuse.contains(again.status), "\(place), \(again.text)")
        let after = try await prepared.count()
        #expect(call.isRepeatable ? after == prepared.parts : after >= prepared.parts, "\(after) at last. \(place)")
        return struck
    }
}
