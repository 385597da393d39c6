import Foundation
import TestSupport
import Testing

/// Tests automatic ends, from the registration of the cards to the simulator's record.
@Suite("The automatic end")
struct AutomaticEndStoryTests {
    @Test func `an old card is ended with the last state, the young ones go on, and the name is not closed`()
        async throws
    {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_APP_DEFAULTS_END_AFTER": "1h"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let activity = "\(deployment.gatewayURL)/api/activities/order-1"
        func card(_ number: Int, minutes: Int) async throws {
            let started = Int(Deployment.now) - minutes * 60_000
            let answer = try await deployment.call(
                "PUT", "\(activity)/channels/\(Deployment.channel(number))",
                body: #"{"token":"\#(Deployment.token(number))","started_at_ms":\#(started)}"#)
            #expect(answer.status == 200 && answer.json["result"] as? String == "stored", "\(answer.text)")
        }
        for (number, minutes) in [20, 10, 0].enumerated() { try await card(number, minutes: minutes) }
        let noted = try await deployment.call("GET", activity).json["automatic_end_at"] as? String
        #expect(noted?.hasSuffix("Z") == true)
        let update = try await deployment.run(
            "publish", "order-1", "--content-state", #"{"status":"Ready","minutes":2.50}"#, "--alert-title", "Ready",
            "--wait", "--json")
        #expect(try Ledger(update.out)["delivered"] == 3, "\(update.err)")
        // The card registers again with an earlier start, so its hour is over.
        try await card(0, minutes: 61)
        try await eventually("the old card is ended") {
            try await deployment.received(Deployment.token(0))["event"] as? String == "end"
        }
        let shown = try await deployment.call(
            "GET", "\(deployment.controlURL)/simulator/tokens/\(Deployment.token(0))", user: nil)
        #expect(shown.text.contains(#""content_state":{"status":"Ready","minutes":2.50}"#), "\(shown.text)")
        #expect(shown.json["accepted"] as? Int == 2 && shown.json["ignored_by_device"] as? Int == 0)
        try await eventually("it is followed no more") {
            try await deployment.call("GET", activity).json["tokens"] as? Int == 2
        }
        let after = try await deployment.call("GET", activity).json
        #expect(after["ended"] as? Bool == false)
        let id = try #require(after["last_push_id"] as? String)
        try await eventually("it is accounted for") { try await deployment.ledger(id).state == "done" }
        let ledger = try await deployment.ledger(id)
        #expect(ledger.fields["automatic"] as? Bool == true && ledger.fields["event"] as? String == "end")
        #expect(ledger["targets"] == 1 && ledger["delivered"] == 1 && ledger["priority"] == 5 && ledger.addsUp)
        let told = try await deployment.run("push", id)
        #expect(told.out.contains("end, automatic, priority 5"), "\(told.out)")
        let next = try await deployment.run("publish", "order-1", "--content-state", "{}", "--wait", "--json")
        #expect(try Ledger(next.out)["delivered"] == 2, "\(next.err)")
        #expect(try Ledger(next.out).fields["automatic"] == nil)
        let described = try await deployment.run("activity", "order-1")
        #expect(described.out.contains("automatic end"), "\(described.out)")
        #expect(try await deployment.received(Deployment.token(0))["accepted"] as? Int == 2)
    }
}
