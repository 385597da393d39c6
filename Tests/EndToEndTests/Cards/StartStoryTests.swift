import Foundation
import TestSupport
import Testing

/// Tests an activity that a push starts, from the HTTP request to the simulator's record.
@Suite("Push to start")
struct StartStoryTests {
    private static let state = ["--content-state", #"{"status":"baking"}"#]
    private static let start =
        [
            "--event", "start", "--attributes-type", "Delivery", "--attributes", #"{"name":"order-1"}"#,
            "--alert-title", "Hi",
        ]
        + state

    @Test func `start, the device tells its token, update, end; a second start is skipped unless asked for`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let (startToken, updateToken) = (Deployment.token(1), Deployment.token(2))
        #expect(try await batch(deployment, #""type":"start_token","attributes_type":"Delivery""#, startToken) == 200)
        let counted = try await deployment.call("GET", "\(deployment.gatewayURL)/api/start-tokens/Delivery").json
        #expect(counted["tokens"] as? Int == 1 && counted["stale"] as? Int == 0)

        let started = try await publish(deployment, Self.start)
        #expect(started["targets"] == 1 && started["delivered"] == 1 && started["stale"] == 0)
        // Repeat it before the device has reported its token. It is sent again, but makes no second card.
        #expect(try await publish(deployment, Self.start)["delivered"] == 1)
        var received = try await deployment.received(startToken)
        #expect(
            received["accepted"] as? Int == 2 && received["cards"] as? Int == 1
                && received["event"] as? String == "start")

        let told = try await batch(
            deployment, #""id":"A","name":"order-1","start_ts_ms":\#(Deployment.now)"#, updateToken)
        #expect(told == 200)
        let skipped = try await publish(deployment, Self.start)
        #expect(skipped["targets"] == 1 && skipped["skipped"] == 1 && skipped["delivered"] == 0)
        #expect(try await publish(deployment, Self.start + ["--restart"])["delivered"] == 1)
        #expect(try await publish(deployment, ["--content-state", #"{"status":"at the door"}"#])["delivered"] == 1)
        #expect(try await publish(deployment, ["--event", "end", "--content-state", "{}"])["delivered"] == 1)
        received = try await deployment.received(updateToken)
        #expect(received["accepted"] as? Int == 2 && received["event"] as? String == "end")
        received = try await deployment.received(startToken)
        #expect(received["accepted"] as? Int == 3 && received["cards"] as? Int == 1)
        let ignored = try await deployment.record()["ignored_by_device"] as? [String: Any]
        #expect(ignored?.isEmpty == true)
        // The next start opens the name again.
        #expect(try await publish(deployment, Self.start)["delivered"] == 1)
        #expect(try await publish(deployment, Self.state)["targets"] == 0)
    }

    @Test func `what is published between a start and the device's token comes with the token, an end too`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let startToken = Deployment.token(1)
        #expect(try await batch(deployment, #""type":"start_token","attributes_type":"Delivery""#, startToken) == 200)
        #expect(try await publish(deployment, Self.start)["delivered"] == 1)
        #expect(try await publish(deployment, ["--content-state", #"{"status":"on its way"}"#])["targets"] == 0)
        let first = Deployment.token(2)
        #expect(
            try await batch(deployment, #""id":"A","name":"order-1","start_ts_ms":\#(Deployment.now)"#, first) == 200)
        try await eventually("the update comes with the token") {
            let received = try await deployment.received(first)
            return (received["content_state"] as? [String: Any])?["status"] as? String == "on its way"
        }
        #expect(try await publish(deployment, ["--event", "end"])["delivered"] == 1)

        #expect(try await publish(deployment, Self.start)["delivered"] == 1)
        #expect(try await publish(deployment, ["--event", "end"])["targets"] == 0)
        let second = Deployment.token(3)
        #expect(
            try await batch(deployment, #""id":"B","name":"order-1","start_ts_ms":\#(Deployment.now)"#, second) == 200)
        try await eventually("the end comes with the token") {
            try await deployment.received(second)["event"] as? String == "end"
        }
        #expect(try await deployment.received(first)["accepted"] as? Int == 2)
    }

    @Test func `a dead start token is pruned, stale ones are counted, and a start has its time like any push`()
        async throws
    {
        let deployment = try await Deployment.start(simulator: ["--dead-share", "0.3"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let old = Deployment.now - 3 * 86_400_000
        let lines = (0..<100).map { number in
            let at = number < 50 ? #","registered_at_ms":\#(old)"# : ""
            return #"{"channel":"\#(Deployment.channel(number))","token":"\#(Deployment.token(number))"\#(at)}"# + "\n"
        }
        let path = deployment.directory + "/starts.ndjson"
        try lines.joined().write(toFile: path, atomically: false, encoding: .utf8)
        let imported = try await deployment.run("import", path, "--start-tokens", "Delivery")
        #expect(imported.code == 0 && imported.out.contains("100 channels"), "\(imported.out)\(imported.err)")
        let made = try await deployment.run(
            "publish", "order-1", "--event", "start", "--attributes-type", "Delivery", "--attributes", "{}",
            "--content-state", "{}", "--alert-title", "Hi", "--at", "+1")
        let id = made.out.trimmingCharacters(in: .whitespacesAndNewlines)
        let ledger = try Ledger(try await deployment.run("push", id, "--wait", "--json").out)
        #expect(ledger.state == "done" && ledger.addsUp && ledger["targets"] == 100)
        #expect(ledger["pruned"] > 0 && ledger["pruned"] + ledger["delivered"] == 100)
        #expect(ledger["stale"] > 0 && ledger["stale"] < ledger["delivered"])
        #expect(try await deployment.run("push", id).out.contains("to stale start tokens"))
        let counted = try await deployment.call("GET", "\(deployment.gatewayURL)/api/start-tokens/Delivery").json
        #expect(counted["tokens"] as? Int == ledger["delivered"] && counted["stale"] as? Int == ledger["stale"])
    }

    @Test func `killed with -9 in a start, one worker's part is finished by the other`() async throws {
        let deployment = try await Deployment.start(simulator: Deployment.slow)
        let count = 8_000
        let victim = try await deployment.worker("victim", Deployment.slowly)
        let heir = try await deployment.worker("heir", Deployment.slowly)
        defer { heir.kill() }
        let lines = (0..<count).map {
            #"{"channel":"\#(Deployment.channel($0))","token":"\#(Deployment.token($0))"}"# + "\n"
        }
        let path = deployment.directory + "/starts.ndjson"
        try lines.joined().write(toFile: path, atomically: false, encoding: .utf8)
        #expect(try await deployment.run("import", path, "--start-tokens", "Delivery").code == 0)
        let output = try await deployment.run(["publish", "order-1"] + Self.start)
        let push = output.out.trimmingCharacters(in: .whitespacesAndNewlines)
        try await deployment.waitUntilUnderWay(push, of: count)
        victim.signal(SIGKILL)
        #expect(await victim.end()?.code == 128 + SIGKILL)
        let ledger = try Ledger(try await deployment.run("push", push, "--wait", "--json").out)
        #expect(ledger.state == "done" && ledger.addsUp && ledger["targets"] == count)
        let record = try await deployment.record()
        let living = record["accepted_tokens"] as? Int ?? 0
        #expect(ledger["delivered"] == living && ledger["pruned"] == count - living && living < count)
        let counted = try await deployment.call("GET", "\(deployment.gatewayURL)/api/start-tokens/Delivery").json
        #expect(counted["tokens"] as? Int == living)
    }

    /// Reports a token of channel 1 as the SDK does.
    private func batch(_ deployment: Deployment, _ members: String, _ token: String) async throws -> Int {
        let update = #"{"action":"set",\#(members),"token":"\#(token)","action_ts_ms":\#(Deployment.now)}"#
        return try await deployment.call(
            "PUT", "\(deployment.gatewayURL)/api/channels/sdk/batch/\(Deployment.channel(1))?platform=ios",
            user: "shop:shop-secret", body: #"{"live_activities":[\#(update)]}"#
        ).status
    }

    private func publish(_ deployment: Deployment, _ options: [String]) async throws -> Ledger {
        try await deployment.published("order-1", options)
    }
}
