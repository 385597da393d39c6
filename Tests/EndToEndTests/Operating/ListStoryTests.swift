import TestSupport
import Testing

@Suite("Lists on the command line")
struct ListStoryTests {
    /// The gateway looks at 800 names for one call that asks for their state, so the first answer is empty.
    @Test func `the one name that ended is found behind nine hundred others`() async throws {
        let deployment = try await Deployment.start()
        let updates = (100..<1_000).map { number in
            #"{"action":"set","type":"update_token","id":"A","name":"order-\#(number)","#
                + #""token":"\#(Deployment.token(number))","action_ts_ms":\#(Deployment.now)}"#
        }
        let url = "\(deployment.gatewayURL)/api/channels/sdk/batch/\(Deployment.channel(1))?platform=ios"
        let body = #"{"live_activities":[\#(updates.joined(separator: ","))]}"#
        #expect(try await deployment.call("PUT", url, user: "shop:shop-secret", body: body).status == 200)
        #expect(try await deployment.run("publish", "order-999", "--event", "end").code == 0)

        let listed = try await deployment.run("activity", "--ended", "--limit", "5")
        #expect(listed.out.split(separator: "\n").count == 2 && listed.out.contains("order-999 "), "\(listed)")
        let first = try await deployment.run("activity", "--no-ended", "--limit", "1")
        #expect(first.out.contains("order-100 ") && first.out.contains("more: --after order-100"), "\(first)")
        let scripted = try await deployment.run("activity", "--ended", "--json")
        #expect(scripted.out.hasPrefix(#"{"ok":true,"activities":[{"name":"order-999","#), "\(scripted)")
        #expect(!scripted.out.contains("next"))
        // Nothing failed, which is said once the whole history was read.
        #expect(try await deployment.run("history", "--state", "failed").out == "no pushes\n")
    }
}
