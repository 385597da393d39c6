import Foundation
import TestSupport
import Testing

/// Tests a name with a broadcast channel and with tokens, from the command line to the requests that APNs receives.
@Suite("Broadcast channels")
struct BroadcastStoryTests {
    @Test func `one publish: once to the channel, once to each token; after the end the channel goes`() async throws {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_BROADCAST_DELETE_AFTER": "2s"])
        let worker = try await deployment.worker("one")
        let created = try await deployment.run("broadcast", "create", "match-42", "--storage", "none")
        let channel = try #require(
            created.out.firstMatch(of: /match-42 has channel (\S+)/).map { String($0.1) }, "\(created.err)")
        let listed = try await deployment.run("broadcast", "list")
        #expect(listed.out.contains(/match-42 +\S+=/) && listed.out.contains("1 of 10,000 channels"), "\(listed.out)")
        _ = try await deployment.importChannels(5, name: "match-42")

        let state = #"{"home":1,"odds":1.50}"#
        let goal = try await deployment.published(
            "match-42", ["--content-state", state, "--alert-title", "Goal", "--alert-body", "1 : 0"])
        #expect(goal["targets"] == 5 && goal["delivered"] == 5 && goal.addsUp)
        #expect(goal.broadcast["state"] as? String == "delivered" && goal.broadcast["channel"] as? String == channel)
        let record = try await deployment.record()
        #expect(record["accepted_tokens"] as? Int == 5 && record["requests"] as? Int == 5)
        #expect(broadcasts(record)["accepted"] == 1 && broadcasts(record)["requests"] == 1)
        #expect(record["provider_tokens"] as? Int == 1, "the fleet's, for tokens, channel and management")
        let payload = #","event":"update","content-state":\#(state),"alert":{"title":"Goal","body":"1 : 0"}}}"#
        try await expectNewest(deployment, goal, payload, channel)

        let end = try await deployment.published(
            "match-42", ["--event", "end", "--content-state", state, "--dismissal-date", "0"])
        #expect(end["delivered"] == 5 && end.broadcast["state"] as? String == "delivered")
        try await expectNewest(
            deployment, end, #","event":"end","content-state":\#(state),"dismissal-date":0}}"#, channel)
        try await eventually("the channel is deleted at APNs") {
            try await broadcasts(deployment.record())["deleted"] == 1
        }
        try await eventually("the name has none") {
            try await deployment.run("broadcast", "show", "match-42").code == 1
        }
        #expect(try await deployment.run("broadcast", "list").out.contains("0 of 10,000 channels"))
        let metrics = try await deployment.call("GET", deployment.gatewayURL + "/metrics", user: nil).text
        #expect(metrics.contains(#"lamplighter_fleet_broadcasts_total{app="shop",outcome="delivered"} 2"#))
        #expect(metrics.contains(#"lamplighter_fleet_broadcasts_total{app="shop",outcome="failed"} 0"#))
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
    }

    @Test func `what APNs has is asked there, and a channel that is deleted is gone here and there`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        for name in ["match-1", "match-2"] {
            let created = try await deployment.run("broadcast", "create", name, "--storage", "newest")
            #expect(created.code == 0, "\(created.err)")
        }
        func shown(_ name: String) async throws -> [String: Any] {
            let output = try await deployment.run("broadcast", "show", name, "--apns", "--json")
            #expect(output.code == 0, "\(output.err)")
            return try JSONSerialization.jsonObject(with: Data(output.out.utf8)) as? [String: Any] ?? [:]
        }
        let first = try await shown("match-1")
        let channel = try #require((first["broadcast"] as? [String: Any])?["channel"] as? String)
        #expect((first["apns"] as? [String: Any])?["storage"] as? String == "newest", "\(first)")
        let told = try await deployment.run("broadcast", "show", "match-1", "--apns")
        #expect(told.out.contains(/storage +newest\n/) && told.out.contains(/at APNs +storage newest\n/), "\(told.out)")
        let path = channel.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? channel
        _ = try await deployment.call("DELETE", "\(deployment.controlURL)/simulator/channels/\(path)", user: nil)
        let lost = try await shown("match-1")
        let error = (lost["apns"] as? [String: Any])?["error"] as? String
        #expect(error?.contains("ChannelNotRegistered") == true, "\(lost)")
        #expect((lost["broadcast"] as? [String: Any])?["state"] as? String == "live", "nobody has published to it yet")

        let deleted = try await deployment.run("broadcast", "delete", "match-2")
        #expect(deleted.code == 0 && deleted.out == "match-2 has no channel any more\n", "\(deleted.out)\(deleted.err)")
        #expect(try await deployment.run("broadcast", "show", "match-2").code == 1)
        #expect(try await broadcasts(deployment.record())["deleted"] == 1, "the other one not by us")
    }

    private func broadcasts(_ record: [String: Any]) -> [String: Int] {
        (record["broadcasts"] as? [String: Any] ?? [:]).compactMapValues { $0 as? Int }
    }

    /// Checks both requests of the push as received, without the provider token.
    private func expectNewest(
        _ deployment: Deployment, _ ledger: Ledger, _ payload: String, _ channel: String
    ) async throws {
        let newest = try await deployment.call("GET", deployment.controlURL + "/simulator/newest", user: nil).json
        func request(_ kind: String) throws -> (fields: [String], body: String) {
            let request = try #require(newest[kind] as? [String: Any])
            let fields = request["fields"] as? [String] ?? []
            return (fields.filter { $0.hasPrefix("apns-") }, request["body"] as? String ?? "")
        }
        let (device, broadcast) = (try request("device"), try request("broadcast"))
        #expect(
            device.fields.sorted() == [
                "apns-priority: 10", "apns-push-type: liveactivity",
                "apns-topic: com.example.shop.push-type.liveactivity",
            ])
        #expect(
            broadcast.fields.sorted() == [
                "apns-channel-id: \(channel)", "apns-expiration: 0", "apns-priority: 10",
                "apns-push-type: liveactivity", "apns-request-id: \(ledger.fields["push_id"] as? String ?? "")",
            ])
        for body in [device.body, broadcast.body] {
            let timestamp = try #require(body.firstMatch(of: /^\{"aps":\{"timestamp":(\d{10})/)).1
            #expect(body == #"{"aps":{"timestamp":\#(timestamp)"# + payload)
        }
        #expect(device.body == broadcast.body)
    }
}

extension Ledger {
    var broadcast: [String: Any] { fields["broadcast"] as? [String: Any] ?? [:] }
}
