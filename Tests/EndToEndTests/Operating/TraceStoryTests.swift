import Foundation
import TestSupport
import Testing

/// An operator looks at the whole exchange with APNs.
@Suite("The exchange with APNs, as an operator sees it")
struct TraceStoryTests {
    @Test(arguments: ["nghttp2", "libcurl"])
    func `a test send goes to one token, shows the exchange and stores nothing`(transport: String) async throws {
        let deployment = try await Deployment.start()
        let token = Deployment.token(7)
        let sent = try await deployment.run(
            "test-send", token, "--content-state", #"{"status":"baking"}"#, "--worker-transport", transport, "--yes")
        #expect(sent.code == 0, "\(sent.err)")
        #expect(try await deployment.received(token)["accepted"] as? Int == 1)
        let shown = "/3/device/\(token.prefix(8))…"
        for text in [
            shown, "authorization: bearer eyJhbGci…", "apns-topic: com.example.shop.push-type.liveactivity",
            #""content-state":{"status":"baking"}"#, "200 after", "apns-id: ", "sent 20",
        ] {
            #expect(sent.out.contains(text), "\(text) is missing in\n\(sent.out)")
        }
        #expect(!(sent.out + sent.err).contains(token.prefix(9)), "the token is not shown whole")
        #expect(sent.out.firstMatch(of: /bearer \S{10}/) == nil, "the provider token is not shown whole")
        let pushes = try await deployment.call("GET", "\(deployment.gatewayURL)/api/pushes")
        #expect(pushes.json["total"] as? Int == 0)

        // The file is the body of a publish.
        let path = deployment.directory + "/publish.json"
        try Deployment.push("order-7", #""all""#, #""event":"end","priority":5"#)
            .write(toFile: path, atomically: false, encoding: .utf8)
        let json = try await deployment.run("test-send", token, "--file", path, "--yes", "--json")
        #expect(json.code == 0 && json.out.contains(#""apns-priority":"5""#), "\(json.out) \(json.err)")
        #expect(json.out.contains(#""status":200,"apns_id":"#))

        // The token comes from a file of another system.
        let piped = try await deployment.shell(
            #"printf '\#(token) \r\n' | lamplighter test-send - --content-state '{"status":"baking"}' --yes"#)
        #expect(piped.code == 0 && piped.out.contains(shown), "\(piped.err)")
    }

    @Test func `a test send is not made without a yes, and says what APNs refuses`() async throws {
        let deployment = try await Deployment.start()
        let token = Deployment.token(7)
        let asked = try await deployment.run("test-send", token, "--content-state", "{}")
        #expect(asked.code == 64 && asked.err.contains("--yes is needed"), "\(asked.err)")
        #expect(try await deployment.received(token)["accepted"] as? Int != 1)
        let large = String(repeating: "a", count: 4_096)
        for (arguments, words) in [
            (["xyz", "--content-state", "{}"], "the token must be"), ([token], "--content-state or --file is needed"),
            ([token, "--content-state", "[]"], "--content-state must be a JSON object"),
            ([token, "--content-state", "{}", "--priority", "7"], "--priority must be 5 or 10"),
            ([token, "--content-state", #"{"a":"\#(large)"}"#], "Apple's limit is 4096"),
            ([token, "--content-state", "{}", "--sandbox"], "apns.environment: both"),
        ] {
            let wrong = try await deployment.run(["test-send", "--yes"] + arguments)
            #expect(wrong.code == 64 && wrong.err.contains(words), "\(wrong.err)")
        }
        let nowhere = try await deployment.run(
            ["test-send", token, "--content-state", "{}", "--yes"],
            environment: ["LAMPLIGHTER_APNS_URL": "https://127.0.0.1:1"])
        #expect(nowhere.code == 69 && nowhere.err.contains("https://127.0.0.1:1 gave no answer"), "\(nowhere.err)")
        let faults = #"{"dead_tokens":[{"prefix":"\#(token)","reason":"Unregistered"}]}"#
        let url = deployment.controlURL + "/simulator/faults"
        #expect(try await deployment.call("POST", url, user: nil, body: faults).status == 200)
        let dead = try await deployment.run("test-send", token, "--content-state", "{}", "--yes")
        #expect(dead.code == 1 && dead.out.contains("410 Unregistered after"), "\(dead.out) \(dead.err)")
    }

    @Test(arguments: ["nghttp2", "libcurl"])
    func `a publish shows the exchange of one channel, or why there is none`(transport: String) async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one", ["LAMPLIGHTER_WORKER_TRANSPORT": transport])
        defer { worker.kill() }
        _ = try await deployment.importChannels(300, name: "match")
        let (channel, token) = (Deployment.channel(123), Deployment.token(123))
        let traced = try await deployment.run("publish", "match", "--content-state", #"{"a":1.50}"#, "--trace", channel)
        #expect(traced.code == 0, "\(traced.err)")
        #expect(traced.out.hasPrefix("push "), "its id can be asked for later: \(traced.out)")
        for text in [
            "/3/device/\(token.prefix(8))… (attempt 1)", "authorization: bearer eyJhbGci…",
            #""content-state":{"a":1.50}"#,
            "200 after", "apns-id: ",
        ] {
            #expect(traced.out.contains(text), "\(text) is missing in\n\(traced.out)")
        }
        #expect(!(traced.out + traced.err).contains(token.prefix(9)))
        try await eventually("everybody got it") { try await deployment.record()["accepted"] as? Int == 300 }

        let json = try await deployment.run("publish", "match", "--content-state", "{}", "--trace", channel, "--json")
        let answer = try JSONSerialization.jsonObject(with: Data(json.out.utf8)) as? [String: Any]
        #expect(answer?["total"] as? Int == 1 && answer?["channel_id"] as? String == channel, "\(json.out)")
        let id = try #require(answer?["push_id"] as? String)
        let again = try await deployment.run("push", id, "--trace")
        #expect(again.code == 0 && again.out.contains("200 after"), "\(again.out) \(again.err)")

        let stranger = try await deployment.run("publish", "match", "--content-state", "{}", "--trace", "nobody")
        #expect(stranger.code == 1 && stranger.out.contains("No request went to channel nobody"), "\(stranger.out)")
        #expect(stranger.out.contains("- "), "a reason follows: \(stranger.out)")
    }
}
