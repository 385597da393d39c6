import Foundation
import TestSupport
import Testing

/// The messages that a phone gets of a push, and the phones that get none: from the request to the simulator's record.
@Suite struct AndroidMessageTests {
    private static let fid = "cEuu3tQRTvK0xkDQhFzwYk"

    private func address(_ number: Int) -> String { "phone\(number)-8T6:APA91b" + String(repeating: "x", count: 120) }

    private func put(_ deployment: Deployment, _ path: String, _ body: String) async throws {
        let answer = try await deployment.call("PUT", "\(deployment.gatewayURL)/api/\(path)", body: body)
        #expect(answer.status == 200, "\(answer.text)")
    }

    /// Publishes to Android, and waits for the end of all pushes.
    private func publish(
        _ deployment: Deployment, _ update: String, _ rest: String = "", ios: String? = nil
    ) async throws -> [Ledger] {
        let activity = ios.map { #""ios":{"live_activity":\#($0)},"# } ?? ""
        let types = ios == nil ? #""android""# : #""ios","android""#
        let body = """
            {"audience":"all","device_types":[\(types)],
            "notification":{\(activity)"android":{"live_update":\(update)\(rest)}}}
            """
        let answer = try await deployment.call("POST", "\(deployment.gatewayURL)/api/push", body: body)
        #expect(answer.status == 202, "\(answer.text)")
        var ledgers: [Ledger] = []
        for id in answer.json["push_ids"] as? [String] ?? [] {
            ledgers.append(try Ledger(try await deployment.run("push", id, "--wait", "--json").out))
        }
        return ledgers
    }

    /// The simulator's record of an address, and its newest request.
    private func phone(_ deployment: Deployment, _ address: String) async throws -> [String: Any] {
        try await deployment.call(
            "GET", deployment.controlURL + "/simulator/fcm/tokens/" + address, user: nil
        ).json
    }

    private func last(_ phone: [String: Any]) throws -> [String: Any] {
        try #require((phone["history"] as? [[String: Any]])?.last)
    }

    /// The newest message: its target, `data` and `android`.
    private func message(_ deployment: Deployment) async throws -> [String: Any] {
        let newest = try await deployment.call(
            "GET", deployment.controlURL + "/simulator/fcm/newest", user: nil)
        let request = try #require(newest.json["message"] as? [String: Any])
        let body = try #require(request["body"] as? String)
        let json = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        return try #require(json?["message"] as? [String: Any])
    }

    @Test func `a phone gets the keys of Airship's SDK, with the content state byte for byte`() async throws {
        let deployment = try await Deployment.start(platforms: ["ios", "android"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await put(
            deployment, "activities/match-42/channels/phone", #"{"platform":"android","token":"\#(address(1))"}"#)
        let state = #"{"home": 1,"é":"\n\u00e9 \"","n":1.50}"#
        let began = Int(Date().timeIntervalSince1970)
        let update = #"{"name":"match-42","event":"update","type":"match","content_state":\#(state)}"#
        let ledger = try #require(try await publish(deployment, update).first)
        #expect(ledger["delivered"] == 1, "\(ledger.fields)")
        let sent = try await message(deployment)
        #expect(sent["token"] as? String == address(1))
        let data = try #require(sent["data"] as? [String: String])
        let id = try #require(ledger.fields["push_id"] as? String)
        #expect(data["com.urbanairship.push.PUSH_ID"] == id && data["com.urbanairship.push.CANONICAL_PUSH_ID"] == id)
        #expect(data["com.urbanairship.push.APID"] == "phone")
        #expect(Int(data["com.urbanairship.push.EXPIRATION"] ?? "").map { $0 > began } == true)
        let text = try #require(data["com.urbanairship.live_update"])
        #expect(text.contains(#""content_state":\#(state)"#), "\(text)")
        let card = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        #expect(card["name"] as? String == "match-42" && card["event"] as? String == "update")
        #expect(card["type"] as? String == "match" && card["dismissal_date"] == nil)
        #expect((card["timestamp"] as? Int).map { $0 >= began } == true)
        // Airship's default.
        let android = try #require(sent["android"] as? [String: Any])
        #expect(android["priority"] as? String == "normal" && android["ttl"] as? String == "900s", "\(android)")
        #expect(android["collapse_key"] == nil && android.count == 2)

        let end =
            #"{"name":"match-42","event":"end","content_state":{"home":2},"timestamp":\#(began + 60),"dismissal_date":\#(began + 90)}"#
        let rest = #","delivery_priority":"high","time_to_live":60,"collapse_key":"score""#
        #expect(try await publish(deployment, end, rest).first?["delivered"] == 1)
        let history = try last(try await phone(deployment, address(1)))
        #expect(history["high"] as? Bool == true && history["collapse_key"] as? String == "score", "\(history)")
        #expect((history["ttl"] as? Double).map { (50...60).contains($0) } == true, "\(history)")
        let final = try await message(deployment)["data"] as? [String: String]
        let ended = final?["com.urbanairship.live_update"] ?? ""
        #expect(ended.contains(#""timestamp":\#(began + 60)"#) && ended.contains(#""dismissal_date":\#(began + 90)"#))
    }

    @Test func `a start reaches each address of either kind, and updates the followers that show them`() async throws {
        let deployment = try await Deployment.start(platforms: ["ios", "android"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let fcm = #""android":{"delivery_type":"fcm"}"#
        for (channel, rest) in [
            ("shown", #""opt_in":true,"push_address":"\#(address(1))",\#(fcm)"#),
            ("off", #""opt_in":false,"background":true,"push_address":"\#(address(2))",\#(fcm)"#),
            ("huawei", #""opt_in":true,"push_address":"\#(address(3))","android":{"delivery_type":"hms"}"#),
        ] {
            try await put(deployment, "channels/\(channel)", #"{"channel":{"device_type":"android",\#(rest)}}"#)
        }
        try await put(
            deployment, "activities/match-42/channels/install", #"{"platform":"android","fid":"\#(Self.fid)"}"#)
        // The app of the first phone shows two of the cards, and other phones one.
        let start = #"{"name":"match-43","event":"start","type":"match","content_state":{"home":0}}"#
        let started = try #require(try await publish(deployment, start).first)
        #expect(started["targets"] == 3 && started["delivered"] == 2 && started["skipped"] == 1, "\(started.fields)")
        #expect(started.errors == ["NotificationsOff": 1])
        let install = try await phone(deployment, Self.fid)
        #expect(install["fid"] as? String == Self.fid && install["accepted"] as? Int == 1, "\(install)")
        #expect(try await phone(deployment, address(3))["accepted"] as? Int == nil)

        let csv = deployment.directory + "/followers.csv"
        try "channel,platform\nshown,android\noff,android\n".write(toFile: csv, atomically: false, encoding: .utf8)
        let imported = try await deployment.run("import", csv, "--name", "match-42", "--json")
        #expect(imported.code == 0 && imported.out.contains(#""accepted":2"#), "\(imported.out)\(imported.err)")
        try await put(
            deployment, "channels/sdk/batch/huawei?platform=android",
            #"{"live_updates":[{"action":"set","name":"match-42","action_ts_ms":\#(Int(Date().timeIntervalSince1970 * 1_000))}]}"#
        )
        // Two names in one body are two pushes, each for its platform.
        let update = #"{"name":"match-42","event":"update","content_state":{"home":1}}"#
        let other = #"{"name":"order-7","event":"update","content_state":{"home":1}}"#
        try await put(
            deployment, "activities/order-7/channels/pad", #"{"token":"\#(Deployment.token(1))"}"#)
        let pushes = try await publish(deployment, update, ios: other)
        #expect(pushes.count == 2 && Set(pushes.compactMap { $0.fields["push_id"] as? String }).count == 2)
        let ledgers = Dictionary(uniqueKeysWithValues: pushes.map { ($0.fields["name"] as? String ?? "", $0) })
        #expect(ledgers["order-7"]?["targets"] == 1 && ledgers["order-7"]?["delivered"] == 1)
        let android = try #require(ledgers["match-42"])
        #expect(android["targets"] == 4 && android["delivered"] == 2 && android.addsUp, "\(android.fields)")
        #expect(android.errors == ["NotificationsOff": 1, "NoAddress": 1], "\(android.errors)")
        #expect(try last(try await phone(deployment, Self.fid))["name"] as? String == "match-42")
    }
}
