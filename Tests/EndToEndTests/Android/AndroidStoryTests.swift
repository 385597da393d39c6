import Foundation
import TestSupport
import Testing

/// One name with followers on both platforms, driven by the command and by HTTP, against the simulators of both.
@Suite struct AndroidStoryTests {
    private static let both: Set<String> = ["ios", "android"]

    private func address(_ number: Int) -> String { "phone\(number)-8T6:APA91b" + String(repeating: "x", count: 120) }

    /// Lets so many channels of each platform follow the name, by one import.
    private func follow(_ deployment: Deployment, _ name: String, ios: Int, android: Range<Int>) async throws {
        var lines = (0..<ios).map {
            #"{"channel":"\#(Deployment.channel($0))","token":"\#(Deployment.token($0))"}"#
        }
        lines += android.map { #"{"channel":"android-\#($0)","platform":"android","token":"\#(address($0))"}"# }
        let path = deployment.directory + "/both.ndjson"
        try lines.joined(separator: "\n").write(toFile: path, atomically: false, encoding: .utf8)
        let output = try await deployment.run("import", path, "--name", name, "--json")
        #expect(output.code == 0 && output.out.contains(#""accepted":\#(lines.count)"#), "\(output.out)\(output.err)")
    }

    /// Starts the card of each phone that follows: a phone shows no update of a card that was not started.
    private func startedCards(_ deployment: Deployment) async throws -> Ledger {
        try await deployment.published(
            "match-42",
            [
                "--event", "start", "--platforms", "android", "--type", "match", "--content-state", #"{"home":0}"#,
                "--restart",
            ])
    }

    private func faults(_ deployment: Deployment, _ json: String) async throws {
        let answer = try await deployment.call(
            "POST", deployment.controlURL + "/simulator/fcm/faults", user: nil, body: json)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// The card of a name on an Android phone. Nil: the phone got nothing of the name.
    private func card(_ deployment: Deployment, _ number: Int, _ name: String) async throws -> [String: Any]? {
        let phone = try await deployment.call(
            "GET", deployment.controlURL + "/simulator/fcm/tokens/" + address(number), user: nil)
        return (phone.json["cards"] as? [String: Any])?[name] as? [String: Any]
    }

    private func state(_ card: [String: Any]?) -> Int? { (card?["content_state"] as? [String: Any])?["home"] as? Int }

    private func platform(_ ledger: Ledger, _ name: String) throws -> Ledger {
        var part = ledger
        part.fields = try #require((ledger.fields["platforms"] as? [String: Any])?[name] as? [String: Any])
        return part
    }

    @Test func `one push reaches both, the ledger adds up for each, and a dead phone costs once`() async throws {
        let deployment = try await Deployment.start(platforms: Self.both)
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await follow(deployment, "match-42", ios: 20, android: 0..<30)
        let activity = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/match-42").json
        #expect(activity["tokens"] as? Int == 50)
        let start = try await startedCards(deployment)
        #expect(start["targets"] == 30 && start["delivered"] == 30 && start.addsUp, "\(start.fields)")

        try await faults(deployment, #"{"dead_tokens":[{"prefix":"phone1-"},{"prefix":"phone2-"}]}"#)
        let first = try await deployment.published(
            "match-42", ["--content-state", #"{"home":1}"#, "--platforms", "ios,android"])
        #expect(first.state == "done" && first.addsUp, "\(first.fields)")
        #expect(first["targets"] == 50 && first["delivered"] == 48 && first["pruned"] == 2)
        let (ios, android) = (try platform(first, "ios"), try platform(first, "android"))
        #expect(ios.addsUp && ios["targets"] == 20 && ios["delivered"] == 20)
        #expect(android.addsUp && android["targets"] == 30 && android["delivered"] == 28 && android["pruned"] == 2)
        #expect(state(try await card(deployment, 0, "match-42")) == 1)
        #expect(state(try await card(deployment, 1, "match-42")) == 0)

        let requests = try await fcmRequests(deployment)
        let second = try await deployment.published(
            "match-42", ["--content-state", #"{"home":2}"#, "--platforms", "ios,android"])
        #expect(second["delivered"] == 48 && second["skipped"] == 2 && second.addsUp, "\(second.fields)")
        #expect(second.errors["NoAddress"] == 2)
        #expect(try await fcmRequests(deployment) == requests + 28)

        // A new address brings all names of a phone back.
        let back = try await deployment.run("track", "match-43", "android-1", address(101), "--platform", "android")
        #expect(back.code == 0, "\(back.err)")
        let third = try await deployment.published(
            "match-42", ["--content-state", #"{"home":3}"#, "--platforms", "ios,android"])
        #expect(third["delivered"] == 49 && third["skipped"] == 1, "\(third.fields)")

        // A push for one platform leaves the other's followers alone: they are no targets.
        let alone = try await deployment.published("match-42", ["--content-state", #"{"home":4}"#])
        #expect(alone["targets"] == 20 && alone["delivered"] == 20, "\(alone.fields)")
        #expect(state(try await card(deployment, 0, "match-42")) == 3)

        let end = try await deployment.published(
            "match-42",
            ["--event", "end", "--content-state", #"{"home":5}"#, "--platforms", "ios,android", "--yes"])
        #expect(end["delivered"] == 49 && end.addsUp, "\(end.fields)")
        let over = try #require(try await card(deployment, 0, "match-42"))
        #expect(over["active"] as? Bool == false && state(over) == 5)
        let left = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/match-42").json
        // The phone without an address got no end.
        #expect(left["tokens"] as? Int == 1, "\(left)")
    }

    private func fcmRequests(_ deployment: Deployment) async throws -> Int {
        let record = try await deployment.call("GET", deployment.controlURL + "/simulator/fcm/record", user: nil)
        return record.json["requests"] as? Int ?? -1
    }

    @Test func `an app with Android alone needs nothing of Apple`() async throws {
        let deployment = try await Deployment.start(platforms: ["android"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await follow(deployment, "order-7", ios: 0, android: 0..<3)
        let ledger = try await deployment.published(
            "order-7", ["--content-state", #"{"home":1}"#, "--platforms", "android"])
        #expect(ledger["targets"] == 3 && ledger["delivered"] == 3, "\(ledger.fields)")
        let refused = try await deployment.run("publish", "order-7", "--content-state", "{}")
        #expect(refused.code == 1 && refused.err.contains("this app sends to no other platform"), "\(refused.err)")
    }

    @Test func `an update of the app takes no follower away, and each card comes back with the newest state`()
        async throws
    {
        let deployment = try await Deployment.start(platforms: Self.both)
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await follow(deployment, "match-42", ios: 3, android: 0..<5)
        for number in 0..<5 {
            try await version("1.0", deployment, number)
            try await report(deployment, number, "set", ["match-43": 0])
        }
        let update = try await deployment.published(
            "match-42", ["--content-state", #"{"home":1}"#, "--platforms", "ios,android", "--type", "match"])
        #expect(update["delivered"] == 8, "\(update.fields)")
        #expect(try await card(deployment, 0, "match-42")?["active"] as? Bool == false)
        for number in 0..<5 {
            // The user of one phone had swiped the other card away a minute before.
            try await report(deployment, number, "remove", ["match-42": 0, "match-43": number == 0 ? 60_000 : 0])
            try await version("1.1", deployment, number)
        }
        for number in 0..<5 {
            try await eventually("phone \(number) has its card again") {
                let card = try await card(deployment, number, "match-42")
                return card?["active"] as? Bool == true && state(card) == 1
            }
            try await report(deployment, number, "set", ["match-42": 0])
        }
        for (name, tokens) in [("match-42", 8), ("match-43", 4)] {
            let left = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/\(name)").json
            #expect(left["tokens"] as? Int == tokens, "\(left)")
        }
        let next = try await deployment.published(
            "match-42", ["--content-state", #"{"home":2}"#, "--platforms", "ios,android"])
        #expect(next["delivered"] == 8, "\(next.fields)")
        for number in 0..<5 {
            let card = try await card(deployment, number, "match-42")
            #expect(state(card) == 2 && card?["event"] as? String == "update", "\(card ?? [:])")
        }
    }

    /// A batch of Airship's SDK on a phone whose clock is two minutes behind. The cards began by a push of now.
    /// - Parameter names: and how many ms ago it was
    private func report(
        _ deployment: Deployment, _ number: Int, _ action: String, _ names: [String: Int]
    ) async throws {
        let now = Int(Date().timeIntervalSince1970 * 1_000)
        let updates = names.map { name, ago in
            #"{"action":"\#(action)","name":"\#(name)","action_ts_ms":\#(now - ago - 120_000),"start_ts_ms":\#(now)}"#
        }
        let answer = try await deployment.call(
            "PUT", "\(deployment.gatewayURL)/api/channels/sdk/batch/android-\(number)?platform=android",
            body: #"{"live_updates":[\#(updates.joined(separator: ","))]}"#)
        #expect(answer.status == 200 && answer.text == #"{"ok":true}"#, "\(answer.text)")
    }

    @Test func `a phone whose address comes back, or is another one, gets the newest state`() async throws {
        let deployment = try await Deployment.start(platforms: Self.both)
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await follow(deployment, "match-42", ios: 1, android: 0..<3)
        let start = try await startedCards(deployment)
        #expect(start["delivered"] == 3, "\(start.fields)")
        func put(_ rest: String) async throws {
            let answer = try await deployment.call(
                "PUT", "\(deployment.gatewayURL)/api/channels/android-0",
                body: #"{"channel":{"device_type":"android"\#(rest)}}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        try await put("")
        let update = try await deployment.published(
            "match-42", ["--content-state", #"{"home":1}"#, "--platforms", "ios,android"])
        #expect(update["delivered"] == 3 && update.errors["NoAddress"] == 1, "\(update.fields)")
        try await put(#","push_address":"\#(address(0))""#)
        try await eventually("the phone has the state that it missed") {
            state(try await card(deployment, 0, "match-42")) == 1
        }
        // A new address is another phone to the simulator, without a card: the state came as an update.
        try await put(#","push_address":"\#(address(77))""#)
        try await eventually("the new address got the state") {
            let phone = try await deployment.call(
                "GET", deployment.controlURL + "/simulator/fcm/tokens/" + address(77), user: nil)
            return phone.json["accepted"] as? Int == 1
        }
        // With push off the SDK clears the card, as a phone without cards has it.
        try await put(#","opt_in":false,"background":false"#)
        try await put(#","opt_in":true,"background":true,"push_address":"\#(address(78))""#)
        try await eventually("the card is there again") {
            let card = try await card(deployment, 78, "match-42")
            return card?["active"] as? Bool == true && state(card) == 1
        }
    }

    private func version(_ version: String, _ deployment: Deployment, _ number: Int) async throws {
        let answer = try await deployment.call(
            "PUT", "\(deployment.gatewayURL)/api/channels/android-\(number)",
            body: """
                {"channel":{"device_type":"android","push_address":"\(address(number))","app_version":"\(version)"}}
                """)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func `the service account's file is read again when it changes, and one of another project is not used`()
        async throws
    {
        let deployment = try await Deployment.start(platforms: ["android"])
        let variable = "LAMPLIGHTER_FCM_SERVICE_ACCOUNT_FILE"
        let good = try Data(contentsOf: URL(filePath: deployment.environment[variable] ?? ""))
        let file = URL(filePath: deployment.directory + "/account.json")
        func write(_ field: String, _ value: String) throws {
            var account = try JSONSerialization.jsonObject(with: good) as? [String: String] ?? [:]
            account[field] = value
            try JSONSerialization.data(withJSONObject: account).write(to: file, options: .atomic)
        }
        // A key that Google does not know.
        try write("private_key_id", "0123456789")
        let worker = try await deployment.worker("one", [variable: file.path()])
        defer { worker.kill() }
        try await follow(deployment, "order-7", ios: 0, android: 0..<3)
        let publish = try await deployment.run(
            "publish", "order-7", "--content-state", #"{"home":1}"#, "--platforms", "android")
        #expect(publish.code == 0, "\(publish.err)")
        try await worker.waitForLog("Invalid JWT Signature")

        try write("project_id", "another-project")
        try await worker.waitForLog("a changed file is not usable")
        #expect(worker.err.contains("another project needs a restart"), "\(worker.err)")
        try good.write(to: file, options: .atomic)
        try await worker.waitForLog("read changed files again")
        let id = publish.out.split(separator: "\n").first.map(String.init) ?? ""
        let ledger = try Ledger(try await deployment.run("push", id, "--wait", "--json").out)
        #expect(ledger["delivered"] == 3 && ledger["failed"] == 0, "\(ledger.fields)")
    }

    @Test func `a trace of a phone shows FCM's answer, and the metrics say the platform`() async throws {
        let deployment = try await Deployment.start(platforms: Self.both)
        let worker = try await deployment.worker("one", ["LAMPLIGHTER_WORKER_PORT": "0"])
        defer { worker.kill() }
        try await worker.waitForLog("health and metrics")
        let port = worker.err.firstMatch(of: /health and metrics url=(http\S+)/).map { String($0.1) } ?? ""
        try await follow(deployment, "match-42", ios: 1, android: 0..<2)
        let traced = try await deployment.run(
            "publish", "match-42", "--content-state", #"{"home":1}"#, "--platforms", "ios,android", "--trace",
            "android-0")
        #expect(traced.code == 0 && traced.out.contains("messages:send"), "\(traced.out)\(traced.err)")
        try await faults(deployment, #"{"dead_tokens":[{"prefix":"phone1-"}]}"#)
        let ledger = try await deployment.published(
            "match-42", ["--content-state", #"{"home":2}"#, "--platforms", "ios,android"])
        #expect(ledger["pruned"] == 1, "\(ledger.fields)")
        let text = try await deployment.call("GET", port + "/metrics", user: nil).text
        for line in [
            #"lamplighter_tokens_total{app="shop",outcome="delivered",platform="ios"} 2"#,
            #"lamplighter_tokens_total{app="shop",outcome="delivered",platform="android"} 3"#,
            #"lamplighter_tokens_total{app="shop",outcome="pruned",platform="android"} 1"#,
            #"lamplighter_rejections_total{app="shop",platform="android",reason="UNREGISTERED"} 1"#,
            #"lamplighter_arrival_seconds_count{app="shop",platform="android",priority="10"} 2"#,
        ] {
            #expect(text.contains(line), "\(line): \(text)")
        }
        #expect(!text.contains(#"outcome="pruned",platform="ios"} 1"#))
        // A draft of the hour may be from before the pushes.
        try await eventually("the sums have both pushes") {
            let sums = try await deployment.call("GET", "\(deployment.gatewayURL)/api/sums").json
            let day = (sums["sums"] as? [[String: Any]])?.first
            let android = (day?["platforms"] as? [String: Any])?["android"] as? [String: Any]
            return day?["targets"] as? Int == 6 && android?["delivered"] as? Int == 3
        }
        let table = try await deployment.run("sums").out
        #expect(table.contains("ON IOS") && table.contains("ON ANDROID"), "\(table)")
        let csv = try await deployment.run("sums", "--csv").out
        #expect(csv.contains("platforms.android.delivered"), "\(csv)")

        let dry = try await deployment.shell(
            #"echo '{"home":3}' | lamplighter publish match-42 --content-state - --platforms ios,android --dry-run"#)
        #expect(dry.code == 0 && dry.out.contains(/on android +2 tokens, \d+ of 4096 bytes/), "\(dry.out)\(dry.err)")
        #expect(dry.out.contains("com.urbanairship.live_update") && dry.out.contains("content-state"), "\(dry.out)")
    }

    @Test(arguments: [true, false])
    func `updates of one second rise on a phone, whatever order they arrive in`(conflate: Bool) async throws {
        let deployment = try await Deployment.start(
            simulator: ["--order-member", "home"], platforms: Self.both,
            // A feed of many updates a second, each of which is sent.
            environment: ["LAMPLIGHTER_PACING_MIN_INTERVAL": "0"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await follow(deployment, "match-42", ios: 1, android: 0..<5)
        let start = try await startedCards(deployment)
        #expect(start["delivered"] == 5, "\(start.fields)")
        try await faults(deployment, #"{"reorder_share":0.3,"reorder_ms":1500}"#)
        var last = ""
        for number in 1...10 {
            let body = """
                {"audience":"all","device_types":["ios","android"],"options":{"conflate":\(conflate)},"notification":{
                "ios":{"live_activity":{"name":"match-42","event":"update","content_state":{"home":\(number)}}},
                "android":{"live_update":{"name":"match-42","event":"update","content_state":{"home":\(number)}},
                "delivery_priority":"high"}}}
                """
            let answer = try await deployment.call("POST", "\(deployment.gatewayURL)/api/push", body: body)
            #expect(answer.status == 202, "\(answer.text)")
            last = (answer.json["push_ids"] as? [String])?.first ?? ""
        }
        _ = try await deployment.run("push", last, "--wait", "--json")
        try await eventually("late messages have come") {
            let record = try await deployment.call("GET", deployment.controlURL + "/simulator/fcm/record", user: nil)
            return record.json["pending"] as? Int == 0
        }
        for number in 0..<5 {
            let card = try await card(deployment, number, "match-42")
            #expect(state(card) == 10 && card?["backwards"] as? Int == 0, "\(card ?? [:])")
        }
    }
}
