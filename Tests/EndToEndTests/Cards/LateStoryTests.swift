import Foundation
import TestSupport
import Testing

/// Tests devices that begin to follow after a publish, from their request to the simulator's record.
@Suite("Who comes late")
struct LateStoryTests {
    @Test func `a device that asks gets the newest state at once, by whatever call it came`() async throws {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        #expect(try await deployment.run("track", "match-1", Deployment.channel(0), Deployment.token(0)).code == 0)
        var pushes: [String] = []
        for score in ["1:0", "2:0"] {
            let output = try await deployment.run(
                "publish", "match-1", "--content-state", #"{"score":"\#(score)"}"#, "--alert-title", "Goal", "--wait",
                "--json")
            pushes.append(try Ledger(output.out).fields["push_id"] as? String ?? "")
        }
        let follow = "\(deployment.gatewayURL)/api/activities/match-1/channels"
        func body(_ number: Int, _ rest: String) -> String { #"{"token":"\#(Deployment.token(number))"\#(rest)}"# }
        let asks = #","options":{"catch_up":true}"#
        let silent = try await deployment.call("PUT", "\(follow)/\(Deployment.channel(1))", body: body(1, ""))
        let asking = try await deployment.call("PUT", "\(follow)/\(Deployment.channel(2))", body: body(2, asks))
        let line = body(3, #","channel":"\#(Deployment.channel(3))""# + asks)
        let bulk = try await deployment.call("POST", follow, body: line)
        #expect([silent, asking, bulk].map(\.status) == [200, 200, 200])
        let track = try await deployment.run(
            "track", "match-1", Deployment.channel(4), Deployment.token(4), "--catch-up")
        #expect(track.code == 0, "\(track.err)")
        for number in 2...4 {
            try await eventually("token \(number) has the state") {
                try await deployment.received(Deployment.token(number))["accepted"] as? Int == 1
            }
            let shown = try await deployment.received(Deployment.token(number))
            #expect((shown["content_state"] as? [String: Any])?["score"] as? String == "2:0")
        }
        try await eventually("the ledger has counted them") {
            try await deployment.ledger(pushes[1]).state == "done"
        }
        let ledger = try await deployment.ledger(pushes[1])
        #expect(ledger["late"] == 3 && ledger["targets"] == 4 && ledger["delivered"] == 4 && ledger.addsUp)
        let end = try await deployment.run("publish", "match-1", "--event", "end", "--wait", "--json")
        #expect(try Ledger(end.out)["delivered"] == 5)
        // A device that comes now gets neither the end nor anything before it.
        let after = try await deployment.call("PUT", "\(follow)/\(Deployment.channel(5))", body: body(5, asks))
        #expect(after.status == 200)
        let next = try await deployment.run(
            "publish", "match-1", "--content-state", #"{"score":"0:0"}"#, "--wait", "--json")
        #expect(try Ledger(next.out)["delivered"] == 1, "\(next.err)")
        let accepted = try await [0, 1, 2, 5].asyncMap { number in
            try await deployment.received(Deployment.token(number))["accepted"] as? Int ?? 0
        }
        #expect(accepted == [3, 1, 2, 1], "the silent one has the end alone")
    }

    /// The SDK sends what happened while the phone was offline in one batch.
    @Test func `a phone that comes back with its next card has the newest state there, once`() async throws {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_DEFAULTS_CATCH_UP": "true"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        #expect(try await deployment.run("track", "order-1", Deployment.channel(0), Deployment.token(0)).code == 0)
        let output = try await deployment.run(
            "publish", "order-1", "--content-state", #"{"status":"packed"}"#, "--wait", "--json")
        let push = try #require(try Ledger(output.out).fields["push_id"] as? String)
        let phones = 1...200
        func comesBack(_ number: Int) async throws {
            let time = Deployment.now - 1_000
            func entry(_ action: String, _ card: String, _ at: Int64, _ rest: String) -> String {
                #"{"action":"\#(action)","type":"update_token","name":"order-1","id":"\#(card)","action_ts_ms":\#(at),"#
                    + #""start_ts_ms":\#(at)\#(rest)}"#
            }
            let entries = [
                entry("set", "A", time, #","token":"\#(Deployment.token(10_000 + number))""#),
                entry("remove", "A", time + 1, ""),
                entry("set", "B", time + 2, #","token":"\#(Deployment.token(number))""#),
            ]
            let answer = try await deployment.call(
                "PUT", "\(deployment.gatewayURL)/api/channels/sdk/batch/\(Deployment.channel(number))?platform=ios",
                body: #"{"live_activities":[\#(entries.joined(separator: ","))]}"#)
            #expect(answer.status == 200 && !answer.text.contains("problems"), "\(answer.text)")
        }
        try await withThrowingTaskGroup { group in
            for first in 0..<4 {
                group.addTask { for number in phones where number % 4 == first { try await comesBack(number) } }
            }
            try await group.waitForAll()
        }
        for number in phones {
            try await eventually("phone \(number) has the state") {
                try await deployment.received(Deployment.token(number))["accepted"] as? Int ?? 0 > 0
            }
        }
        try await eventually("it is over") { try await deployment.ledger(push).state == "done" }
        var wrong: [Int] = []
        for number in phones {
            let shown = try await deployment.received(Deployment.token(number))
            if shown["accepted"] as? Int != 1 { wrong.append(number) }
        }
        #expect(wrong.isEmpty)
    }

    @Test func `what is published between a start and its token is there as soon as the token is, an end too`()
        async throws
    {
        let deployment = try await Deployment.start()
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        func tell(_ channel: Int, _ fields: String, _ token: Int) async throws {
            let time = Deployment.now
            let answer = try await deployment.call(
                "PUT", "\(deployment.gatewayURL)/api/channels/sdk/batch/\(Deployment.channel(channel))?platform=ios",
                body: #"{"live_activities":[{"action":"set",\#(fields),"action_ts_ms":\#(time),"#
                    + #""token":"\#(Deployment.token(token))"}]}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        func publish(_ state: String, _ event: String = "update", _ rest: String = "") async throws -> String {
            let body =
                #"{"audience":"all","device_types":["ios"],"notification":{"ios":{"live_activity":{"name":"order-1","#
                + #""event":"\#(event)","content_state":{"status":"\#(state)"}\#(rest)}}}}"#
            let answer = try await deployment.call("POST", "\(deployment.gatewayURL)/api/push", body: body)
            let id = try #require((answer.json["push_ids"] as? [String])?.first, "\(answer.text)")
            try await eventually("\(state) is over") { try await deployment.ledger(id).state == "done" }
            return id
        }
        func shown(_ token: Int) async throws -> [String]? {
            let received = try await deployment.received(Deployment.token(token))
            let state = (received["content_state"] as? [String: Any])?["status"] as? String
            return received["accepted"] as? Int == 1 ? [received["event"] as? String ?? "", state ?? ""] : nil
        }
        let start = #","attributes_type":"Delivery","attributes":{},"alert":{"title":"Hi","body":"It bakes"}"#
        let startToken = #""type":"start_token","attributes_type":"Delivery""#
        let updateToken = #""id":"A","name":"order-1""#
        try await tell(1, startToken, 1)
        let first = try await publish("baking", "start", start)
        #expect(try await deployment.ledger(first)["delivered"] == 1)
        _ = try await publish("packed")
        let newest = try await publish("at the door")
        #expect(try await deployment.ledger(newest)["targets"] == 0)
        // A device without a start gets nothing.
        try await tell(3, updateToken, 30)
        try await tell(1, updateToken, 10)
        try await eventually("the newest state is there") { try await shown(10) == ["update", "at the door"] }
        try await eventually("it is counted") { try await deployment.ledger(newest).state == "done" }
        #expect(try await deployment.ledger(newest)["late"] == 1)
        try await tell(2, startToken, 2)
        let second = try await publish("baking", "start", start)
        #expect(try await deployment.ledger(second)["delivered"] == 1, "the other one follows")
        let end = try await publish("eaten", "end")
        #expect(try await deployment.ledger(end)["delivered"] == 2)
        try await tell(2, updateToken, 20)
        try await eventually("the end is there") { try await shown(20) == ["end", "eaten"] }
        #expect(try await shown(30) == ["end", "eaten"])
        let activity = try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/order-1").json
        #expect(activity["ended"] as? Bool == true)
        try await eventually("nobody follows any more") {
            try await deployment.call("GET", "\(deployment.gatewayURL)/api/activities/order-1").json["tokens"] as? Int
                == 0
        }
        let ignored = try await deployment.record()["ignored_by_device"] as? [String: Any]
        #expect(ignored?.isEmpty == true)
    }

    @Test func `the SDK's devices catch up if the app is configured so; a rotation gets nothing twice`() async throws {
        let deployment = try await Deployment.start(environment: ["LAMPLIGHTER_APP_DEFAULTS_CATCH_UP": "true"])
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let published = try await deployment.run(
            "publish", "order-1", "--content-state", #"{"eta":5}"#, "--wait", "--json")
        let push = try Ledger(published.out).fields["push_id"] as? String ?? ""
        let url = "\(deployment.gatewayURL)/api/channels/sdk/batch/\(Deployment.channel(1))?platform=ios"
        let now = Deployment.now
        func set(_ number: Int, _ time: Int64) async throws -> Int {
            try await deployment.call(
                "PUT", url,
                body: #"{"live_activities":[{"action":"set","id":"A","name":"order-1","action_ts_ms":\#(time),"#
                    + #""token":"\#(Deployment.token(number))"}]}"#
            ).status
        }
        #expect(try await set(1, now - 2_000) == 200)
        try await eventually("the state is there") {
            let ledger = try await deployment.ledger(push)
            return ledger.state == "done" && ledger["delivered"] == 1
        }
        #expect(try await set(2, now - 1_000) == 200)
        let next = try await deployment.run("publish", "order-1", "--content-state", #"{"eta":4}"#, "--wait", "--json")
        #expect(try Ledger(next.out)["delivered"] == 1, "\(next.err)")
        for number in 1...2 {
            let received = try await deployment.received(Deployment.token(number))
            #expect(received["accepted"] as? Int == 1)
            #expect((received["content_state"] as? [String: Any])?["eta"] as? Int == (number == 1 ? 5 : 4))
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<T>(_ body: (Element) async throws -> T) async rethrows -> [T] {
        var values: [T] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
