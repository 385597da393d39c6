import Foundation
import TestSupport
import Testing

@Suite("One publish, from the command line to the devices")
struct StoryTests {
    @Test func `track, publish, delivered, accounted for; untrack, and nothing goes out`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        let (channel, token) = (Deployment.channel(1), Deployment.token(1))

        #expect(try await deployment.run("track", "order-1234", channel, token).code == 0)
        // Keep numbers as written: a state that is parsed and written again would lose the zero.
        let state = #"{"status":"baking","price":12.50,"eta":1e2}"#
        let published = try await deployment.run("publish", "order-1234", "--content-state", state, "--wait", "--json")
        #expect(published.code == 0, "\(published.err)")
        let ledger = try Ledger(published.out)
        #expect(ledger.state == "done" && ledger.addsUp)
        #expect(ledger["targets"] == 1 && ledger["delivered"] == 1)
        let received = try await deployment.received(token)
        #expect(received["accepted"] as? Int == 1)
        let raw = try await deployment.call("GET", "\(deployment.controlURL)/simulator/tokens/\(token)", user: nil).text
        #expect(raw.contains(#""content_state":\#(state)"#), "\(raw)")

        // A misspelt name is published, and the publisher is told, beside the ledger too.
        for flags in [[], ["--wait", "--json"]] {
            let misspelt = try await deployment.run(["publish", "ordr-1234", "--content-state", "{}"] + flags)
            #expect(misspelt.code == (flags.isEmpty ? 0 : 1), "it reached nobody")
            #expect(misspelt.err.contains(#"warning: "ordr-1234" has no followers"#), "\(misspelt.err)")
            #expect(misspelt.err.contains(#""order-1234""#), "\(misspelt.err)")
            if !flags.isEmpty { #expect(try Ledger(misspelt.out)["targets"] == 0) }
        }

        #expect(try await deployment.run("untrack", "order-1234", channel).code == 0)
        let second = try await deployment.run("publish", "order-1234", "--content-state", "{}", "--wait", "--json")
        #expect(try Ledger(second.out)["targets"] == 0)
        #expect(try await deployment.received(token)["accepted"] as? Int == 1)
        worker.signal(SIGTERM)
        #expect(await worker.end()?.code == 0)
        deployment.gateway.signal(SIGTERM)
        #expect(await deployment.gateway.end()?.code == 0)
    }

    @Test func `what an app's SDK sends: both types of token, set and removed, late and repeated`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let channel = Deployment.channel(7)
        let now = Deployment.now
        func batch(_ updates: String) async throws -> Int {
            let url = "\(deployment.gatewayURL)/api/channels/sdk/batch/\(channel)?platform=ios"
            let body = #"{"live_activities":[\#(updates)]}"#
            return try await deployment.call("PUT", url, user: "shop:shop-secret", body: body).status
        }
        func set(_ token: Int, at: Int64, id: String = "A") -> String {
            #"{"action":"set","type":"update_token","id":"\#(id)","name":"order-7","token":"\#(Deployment.token(token))","#
                + #""action_ts_ms":\#(at),"start_ts_ms":\#(now - 5_000)}"#
        }
        func tokens() async throws -> Int {
            let url = "\(deployment.gatewayURL)/api/activities/order-7"
            return try await deployment.call("GET", url).json["tokens"] as? Int ?? 0
        }

        let startToken =
            #"{"action":"set","type":"start_token","attributes_type":"Delivery","token":"\#(Deployment.token(1))","#
            + #""action_ts_ms":\#(now)}"#
        #expect(try await batch(set(2, at: now - 2_000) + "," + startToken) == 200)
        // Rotate the token, and then repeat the old registration. Late updates change nothing.
        #expect(try await batch(set(3, at: now - 1_000)) == 200)
        #expect(try await batch(set(2, at: now - 2_000)) == 200)
        #expect(try await tokens() == 1)
        let published = try await deployment.run("publish", "order-7", "--content-state", "{}", "--wait", "--json")
        #expect(try Ledger(published.out)["delivered"] == 1)
        #expect(try await deployment.received(Deployment.token(3))["accepted"] as? Int == 1)

        // A removal with another activity's id is not for this one.
        let remove = #"{"action":"remove","type":"update_token","id":"%","name":"order-7","action_ts_ms":\#(now)}"#
        #expect(try await batch(remove.replacing("%", with: "B")) == 200)
        #expect(try await tokens() == 1)
        #expect(try await batch(remove.replacing("%", with: "A")) == 200)
        #expect(try await tokens() == 0)
    }

    @Test func `an import lists the lines it does not take, takes the others, and ends with 1`() async throws {
        let deployment = try await Deployment.start()
        let rows = [
            "channel,token", "\(Deployment.channel(1)),\(Deployment.token(1))", "",
            "\(Deployment.channel(2)),xyz", "\(Deployment.channel(3))",
            "\(Deployment.channel(4)),\(Deployment.token(4))",
        ]
        let path = deployment.directory + "/devices.csv"
        try rows.joined(separator: "\n").write(toFile: path, atomically: false, encoding: .utf8)
        let output = try await deployment.run("import", path, "--name", "match", "--json")
        #expect(output.code == 1)
        let answer = try JSONSerialization.jsonObject(with: Data(output.out.utf8)) as? [String: Any]
        #expect(answer?["accepted"] as? Int == 2)
        let rejected = answer?["rejected"] as? [[String: Any]] ?? []
        #expect(rejected.map { $0["line"] as? Int } == [4, 5], "\(output.out)")
    }

    @Test func `tags and users are imported, and a push finds them`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        func write(_ name: String, _ text: String) throws -> String {
            let path = deployment.directory + "/" + name
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            return path
        }
        _ = try await deployment.importChannels(3, name: "match")
        let channel = Deployment.channel
        let tags = try write(
            "tags.csv", "channel,group,tag\n\(channel(0)),team,reds\n\(channel(1)),team,reds\n\(channel(2)),team,\n")
        let tagged = try await deployment.run("import", "tags", tags)
        #expect(tagged.code == 1 && tagged.out.contains("line 4: tag: is empty"), "\(tagged.out)")
        #expect(tagged.out.contains("2 lines of tags applied, 1 line rejected"), "\(tagged.out)")
        let users = try write("users.ndjson", #"{"channel":"\#(channel(2))","named_user_id":"ann"}"#)
        let named = try await deployment.run("import", "users", users, "--json")
        #expect(
            named.code == 0 && named.out.contains(#""accepted":1,"rejected":[],"rejected_count":0"#), "\(named.out)")
        for (audience, targets) in [("tag:team/reds", 2), ("user:ann", 1)] {
            let published = try await deployment.run(
                "publish", "match", "--content-state", "{}", "--audience", audience, "--wait", "--json")
            #expect(try Ledger(published.out)["delivered"] == targets, "\(published.out)")
        }
    }
}
