import Foundation
import LiveActivity
import TestSupport
import Testing

/// Tests the way from an HTTP request of a publisher or an app to the bytes that APNs receives.
@Suite("On the wire")
struct WireStoryTests {
    @Test func `a start, by audience: its payload and headers, its collapse id by name, its input by device`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        for (number, system) in [(1, "18.1"), (2, "17.5"), (3, "18.1")] {
            let tags = number < 3 ? #"["beta"]"# : "[]"
            let channel = #"{"channel":{"device_type":"ios","set_tags":true,"tags":\#(tags),"device_os":"\#(system)"}}"#
            let registered = try await deployment.call(
                "PUT", "\(deployment.gatewayURL)/api/channels/\(Deployment.channel(number))", user: "shop:shop-secret",
                body: channel)
            #expect(registered.status == 200 || registered.status == 201, "\(registered.text)")
            let update =
                #"{"action":"set","type":"start_token","attributes_type":"Delivery","token":"\#(Deployment.token(number))","#
                + #""action_ts_ms":\#(Deployment.now)}"#
            let told = try await deployment.call(
                "PUT", "\(deployment.gatewayURL)/api/channels/sdk/batch/\(Deployment.channel(number))?platform=ios",
                user: "shop:shop-secret", body: #"{"live_activities":[\#(update)]}"#)
            #expect(told.status == 200, "\(told.text)")
        }
        let (attributes, state) = (#"{"shop": "Ada's", "no":1.50}"#, #"{"status":"oven","min": 25}"#)
        let alert = #"{"title":{"loc-key":"ORDER","loc-args":["12"]},"body":"It bakes","sound":"bell.aiff"}"#
        let start =
            #""event":"start","content_state":\#(state),"attributes_type":"Delivery","attributes":\#(attributes)"#
        func publish(_ name: String, alert: String?) async throws -> (status: Int, text: String, ledger: Ledger?) {
            try await deployment.post(name, #"{"tag":"beta"}"#, start + (alert.map { #","alert":\#($0)"# } ?? ""))
        }
        let silent = try await publish("order-1", alert: nil)
        #expect(silent.status == 400 && silent.text.contains("notification.ios.live_activity"), "\(silent.text)")
        #expect(silent.text.contains("alert"), "\(silent.text)")

        var collapseIDs: [String] = []
        for name in ["order-1", "order-2", "order-1"] {
            let ledger = try #require(try await publish(name, alert: alert).ledger)
            #expect(ledger["targets"] == 2 && ledger["delivered"] == 2, "the third has no tag")
            let newest = try await deployment.newest("device")
            let id = try #require(newest.fields.first { $0.hasPrefix("apns-collapse-id: ") })
            #expect(id.wholeMatch(of: /apns-collapse-id: [0-9a-f]{32}/) != nil)
            collapseIDs.append(id)
            let fields = [
                id, "apns-priority: 10", "apns-push-type: liveactivity",
                "apns-topic: com.example.shop.push-type.liveactivity",
            ]
            #expect(newest.fields == fields)
            #expect(
                newest.body == #"{"aps":{"timestamp":\#(newest.timestamp),"event":"start","content-state":\#(state),"#
                    + #""attributes-type":"Delivery","attributes":\#(attributes),"alert":\#(alert),"input-push-token":1}}"#
            )
        }
        #expect(collapseIDs[0] == collapseIDs[2] && collapseIDs[0] != collapseIDs[1])

        // If the name has a broadcast channel, devices with iOS 18 get their updates from it.
        let made = try await deployment.broadcast("PUT", "order-3", #"{"storage":"newest"}"#)
        #expect(try #require(try await publish("order-3", alert: alert).ledger)["delivered"] == 2)
        for (number, input) in [(1, made.channel), (2, nil)] {
            let received = try await deployment.received(Deployment.token(number))
            let last = (received["history"] as? [[String: Any]])?.last
            #expect(last?["input_channel"] as? String == input && received["cards"] as? Int == 3)
        }
        let one = try await deployment.post(
            "order-3", #"{"ios_channel":"\#(Deployment.channel(1))"}"#, start + #","alert":\#(alert)"#)
        #expect(try #require(one.ledger)["delivered"] == 1, "\(one.text)")
        let newest = try await deployment.newest("device")
        #expect(
            newest.body == #"{"aps":{"timestamp":\#(newest.timestamp),"event":"start","content-state":\#(state),"#
                + #""attributes-type":"Delivery","attributes":\#(attributes),"alert":\#(alert),"#
                + #""input-push-channel":"\#(made.channel ?? "")"}}"#)
        let ignored = try await deployment.record()["ignored_by_device"] as? [String: Any]
        #expect(ignored?.isEmpty == true)
    }

    @Test func `updates get the app's stale date and its expiry; a token past its eight hours gets nothing`()
        async throws
    {
        let deployment = try await Deployment.start(environment: [
            "LAMPLIGHTER_DEFAULTS_STALE_AFTER": "1h", "LAMPLIGHTER_APP_DEFAULTS_STALE_AFTER": "15m",
            "LAMPLIGHTER_DEFAULTS_EXPIRY_UPDATE": "2h", "LAMPLIGHTER_APP_DEFAULTS_EXPIRY_UPDATE": "90s",
        ])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await deployment.follow(1, #","started_at_ms":\#(Deployment.now - 7 * 3_600_000)"#)
        try await deployment.follow(2, #","started_at_ms":\#(Deployment.now - 9 * 3_600_000)"#)
        let ledger = try #require(
            try await deployment.post("match-1", #""all""#, #""event":"update","content_state":{"home":1}"#).ledger)
        #expect(ledger["targets"] == 1 && ledger["delivered"] == 1)
        let newest = try await deployment.newest("device")
        let stale = try #require(newest.body.firstMatch(of: /"stale-date":(\d{10})/).flatMap { Int($0.1) })
        #expect((900...902).contains(stale - newest.timestamp) || stale - newest.timestamp == 899)
        #expect(
            newest.body
                == #"{"aps":{"timestamp":\#(newest.timestamp),"event":"update","content-state":{"home":1},"#
                + #""stale-date":\#(stale)}}"#)
        #expect(try await deployment.record()["requests"] as? Int == 1, "no request for the one that is over")
        let push = try #require((ledger.fields["push_id"] as? String).flatMap { PushID($0) })
        let block = try Deployment.block(ofPush: push, to: "match-1")
        // shared-kept.lua: the deadline, in ms after acceptance.
        let deadline = "(struct.unpack('>I4',redis.call('hvals',KEYS[1])[1],9))"
        #expect(try deployment.redis.command("EVAL \"return\(deadline)\" 1 \(block)") == ":90000")
    }

    @Test func `past the budget updates go out at five; an alert without a title is warned of`() async throws {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_BUDGET_HIGH_PER_HOUR": "1"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        try await deployment.follow(1, "")
        var demoted: [Int] = []
        var priorities: [String] = []
        for insists in [false, false, true] {
            let insist = insists ? #","options":{"insist":true}"# : ""
            let answer = try await deployment.post(
                "match-1", #""all""#, #""event":"update","content_state":{}"#, tail: insist)
            demoted.append(try #require(answer.ledger, "\(answer.text)")["demoted"])
            priorities += try await deployment.newest("device").fields.filter { $0.hasPrefix("apns-priority") }
        }
        #expect(demoted == [0, 1, 0])
        #expect(priorities == ["apns-priority: 10", "apns-priority: 5", "apns-priority: 10"])

        let alert = #"{"body":{"loc-key":"GOAL","loc-args":["Ada"]},"sound":"goal.aiff"}"#
        let answer = try await deployment.post(
            "match-1", #""all""#, #""event":"update","content_state":{},"alert":\#(alert)"#)
        #expect(answer.status == 202 && answer.text.contains("has no title"), "\(answer.text)")
        try await eventually("the gateway's log has it too") { deployment.gateway.err.contains("has no title") }
        let newest = try await deployment.newest("device")
        #expect(newest.body.hasSuffix(#","event":"update","content-state":{},"alert":\#(alert)}}"#), "\(newest.body)")
    }

    @Test func `a channel that APNs has lost is made anew; its limits and its storage are APNs's`() async throws {
        let deployment = try await Deployment.start(simulator: ["--channel-limit", "1"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let first = try await deployment.broadcast("PUT", "match-1", #"{"storage":"newest"}"#)
        #expect(first.status == 200, "\(first.text)")
        let second = try await deployment.broadcast("PUT", "match-2", "{}")
        #expect(second.status == 409 && second.text.contains("CannotCreateChannelConfig"), "\(second.text)")
        let list = try await deployment.call("GET", "\(deployment.gatewayURL)/api/broadcasts")
        #expect(list.json["channels"] as? Int == 1 && list.json["limit"] as? Int == 10_000, "\(list.text)")

        try await deployment.follow(1, "")
        let id = try #require(first.channel)
        let path = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? id
        let lost = try await deployment.call("DELETE", "\(deployment.controlURL)/simulator/channels/\(path)", user: nil)
        #expect(lost.status == 200, "\(lost.text)")
        let update = try #require(
            try await deployment.post("match-1", #""all""#, #""event":"update","content_state":{"home":1}"#).ledger)
        #expect(update["delivered"] == 1 && update.broadcast["state"] as? String == "delivered", "\(update.fields)")
        let anew = try await deployment.broadcast("GET", "match-1", nil)
        #expect(anew.channel != nil && anew.channel != id)
        let sent = try await deployment.newest("broadcast")
        #expect(sent.fields.contains("apns-channel-id: \(anew.channel ?? "")"), "\(sent.fields)")
        #expect(sent.body == #"{"aps":{"timestamp":\#(sent.timestamp),"event":"update","content-state":{"home":1}}}"#)

        // A channel allows 5,120 bytes, and a token 4,096.
        func size(_ bytes: Int) -> String {
            let fixed = #"{"aps":{"timestamp":1795284000,"event":"update","content-state":{"t":""}}}"#.utf8.count
            return #""event":"update","content_state":{"t":"\#(String(repeating: "x", count: bytes - fixed))"}"#
        }
        let large = try await deployment.post("match-1", #""all""#, size(5_120))
        #expect(large.status == 202 && large.text.contains("warnings"), "\(large.text)")
        #expect(large.ledger?["failed"] == 1 && large.ledger?.errors == ["PayloadTooLarge": 1])
        #expect(large.ledger?.broadcast["state"] as? String == "delivered")
        #expect(try await deployment.newest("broadcast").body.utf8.count == 5_120)
        for (name, bytes) in [("match-1", 5_121), ("match-3", 4_097)] {
            let refused = try await deployment.post(name, #""all""#, size(bytes))
            #expect(refused.status == 400 && refused.text.contains("content_state"), "\(refused.text)")
        }
        #expect(try await deployment.broadcast("DELETE", "match-1", nil).status == 204)
        try await eventually("APNs has none") {
            let counts = try await deployment.record()["broadcasts"] as? [String: Any]
            return counts?["created"] as? Int == 2 && counts?["deleted"] as? Int == 1
        }
    }

    @Test
    func `a schedule by HTTP: one push at its time, by whichever worker, though Redis and the workers were restarted`()
        async throws
    {
        let deployment = try await Deployment.start(append: true)
        let before = try await deployment.worker("before")
        try await deployment.follow(1, "")
        func body(_ due: Int) -> String {
            let time = Date(timeIntervalSince1970: Double(due)).ISO8601Format().dropLast()
            return #"{"schedule":{"scheduled_time":"\#(time)"},"push":"#
                + Deployment.push("match-1", #""all""#, #""event":"update","content_state":{"home":0}"#) + "}"
        }
        let url = "\(deployment.gatewayURL)/api/schedules"
        let made = try await deployment.call("POST", url, body: body(Int(Date().timeIntervalSince1970) + 3_600))
        let id = try #require((made.json["schedule_ids"] as? [String])?.first, "\(made.text)")
        before.kill()
        try await deployment.redis.restart()
        let workers = [try await deployment.worker("one"), try await deployment.worker("two")]
        defer { for worker in workers { worker.kill() } }
        try await eventually("the gateway answers again") {
            try await deployment.call("GET", "\(deployment.gatewayURL)/readyz", user: nil).status == 200
        }
        // The schedule was not due before the restarts. Now it is.
        let due = Int(Date().timeIntervalSince1970) + 2
        let replaced = try await deployment.call("PUT", "\(url)/\(id)", body: body(due))
        #expect(replaced.status == 200, "\(replaced.text)")
        try await eventually("it is over") { try await deployment.ledger(id).state == "done" }
        let ledger = try await deployment.ledger(id)
        #expect(ledger["targets"] == 1 && ledger["delivered"] == 1)
        let received = try await deployment.received(Deployment.token(1))
        #expect(received["count"] as? Int == 1 && received["accepted"] as? Int == 1)
        let sent = try await deployment.newest("device")
        #expect(sent.timestamp >= due, "not before its time, and with the time at which it was accepted")
        #expect(sent.body == #"{"aps":{"timestamp":\#(sent.timestamp),"event":"update","content-state":{"home":0}}}"#)
        // The schedule is closed after its push is committed, which another task of the worker may have sent by then.
        try await eventually("the schedule is closed") {
            let shown = try await deployment.call("GET", "\(deployment.gatewayURL)/api/schedules/\(id)")
            return shown.json["state"] as? String == "sent"
        }
    }
}
