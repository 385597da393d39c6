import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI
@testable import Store

/// Devices tell which pushes they show.
@Suite struct ReceiptTests {
    private static let app = "\(GatewayFixture.key):\(GatewayFixture.secret)"

    @Test func `a push carries its short id, and its ledger counts the devices that send it back`() async throws {
        try await run { gateway in
            let id = try await publish(gateway)
            let state = #""content-state":{"lamplighter":"\#(id.short)","n":1}"#
            #expect(try await content(of: id, gateway).contains(state))
            #expect(try await gateway.send("GET", "/api/push/\(id)").text.contains("shown") == false)
            let body = Self.body([(id.short, "shown", "c-1"), (id.short, "shown", "c-2"), ("\(id)", "ended", "c-2")])
            for _ in 1...2 {
                let reply = try await gateway.send("POST", "/api/receipts", body, user: Self.app)
                #expect(reply.status == 200 && reply.text == #"{"ok":true,"accepted":3,"late":0,"unknown":0}"#)
            }
            let ledger = try await gateway.send("GET", "/api/push/\(id)")
            #expect(try ledger.integer("shown") == 2 && ledger.integer("ended") == 1)
            #expect(!ledger.text.contains("dismissed"))
            #expect(try await gateway.send("GET", "/api/pushes").text.contains(#""shown":2,"ended":1,"#))
            let metrics = try await gateway.send("GET", "/metrics", user: nil).text
            let series = #"lamplighter_receipts_total{app="\#(GatewayFixture.key)",outcome="accepted"} 6"#
            #expect(metrics.contains(series))
        }
    }

    @Test func `without the setting nothing is marked, and receipts are refused with the remedy`() async throws {
        try await GatewayFixture.run { gateway in
            let id = try await publish(gateway)
            #expect(try await content(of: id, gateway).contains(#""content-state":{"n":1}"#))
            let reply = try await gateway.send(
                "POST", "/api/receipts", Self.body([(id.short, "shown", "c")]), user: Self.app)
            #expect(reply.status == 403 && reply.text.contains("defaults.receipts"))
            #expect(try await gateway.send("GET", "/api/push/\(id)").text.contains("shown") == false)
        }
    }

    @Test func `the SDK's token and signature tell for their own channel alone`() async throws {
        try await run { gateway in
            let id = try await publish(gateway)
            let channel = "0f2a3c1e-5b77-4a3c-9d51-2f6d8a9b0c11"
            let own = GatewayApp(
                key: try gateway.app, secret: GatewayFixture.secret, masterSecret: GatewayFixture.masterSecret)
            let token = SDKTokens(app: own).token(for: try ChannelID(channel), now: testNow)
            let headers = [("Authorization", "Bearer \(token)"), ("X-UA-Appkey", GatewayFixture.key)]
            func tell(_ named: String?) async throws -> Reply {
                try await gateway.send(
                    "POST", "/api/receipts", Self.body([(id.short, "shown", named)]), user: nil, headers: headers)
            }
            #expect(try await tell(nil).integer("accepted") == 1)
            #expect(try await tell(channel).integer("accepted") == 1)
            let other = try await tell("device-1")
            #expect(other.status == 400 && other.text.contains(#""path":"receipts[0].channel_id""#))
            #expect(try await gateway.send("GET", "/api/push/\(id)").integer("shown") == 1)
            // With a secret, a header may name the channel.
            let named = try await gateway.send(
                "POST", "/api/receipts", Self.body([(id.short, "dismissed", nil)]), user: Self.app,
                headers: [("X-UA-Channel-ID", channel)])
            #expect(try named.integer("accepted") == 1)
        }
    }

    @Test(arguments: [
        ("{}", "receipts", "is required"), (#"{"receipts":{}}"#, "receipts", "must be an array"),
        (#"{"receipts":[],"channel_id":"c"}"#, "channel_id", "is not a known key"),
        (#"{"receipts":[@,{"push_id":"x","event":"shown","channel_id":"c"}]}"#, "receipts[1].push_id", "22 characters"),
        (#"{"receipts":[@,{"push_id":7,"event":"shown","channel_id":"c"}]}"#, "receipts[1].push_id", "a string"),
        (#"{"receipts":[@,{"push_id":"ID","event":"show","channel_id":"c"}]}"#, "receipts[1].event", "mean `shown`"),
        (#"{"receipts":[@,{"push_id":"ID","event":"shown"}]}"#, "receipts[1].channel_id", "is required with a secret"),
        (#"{"receipts":[@,{"push_id":"ID","event":"shown","channel_id":""}]}"#, "receipts[1].channel_id", "must be"),
        (
            #"{"receipts":[@,{"push_id":"ID","event":"shown","channel_id":"c","at":1}]}"#, "receipts[1].at",
            "not a known key"
        ),
        ("*", "receipts", "at most 200 receipts, not 201"),
    ])
    func `a wrong body is refused by the place of its mistake, and counts nothing`(
        text: String, path: String, message: String
    ) async throws {
        try await run { gateway in
            let id = try await publish(gateway)
            let good = #"{"push_id":"\#(id.short)","event":"shown","channel_id":"c"}"#
            let many = #"{"receipts":[\#(Array(repeating: good, count: 201).joined(separator: ","))]}"#
            let body = text == "*" ? many : text.replacing("ID", with: id.short).replacing("@", with: good)
            let reply = try await gateway.send("POST", "/api/receipts", body, user: Self.app)
            #expect(reply.status == 400 && reply.text.contains(message), "\(reply.text)")
            #expect(try reply.object.required("details").object().required("path").string() == path)
            #expect(try await gateway.send("GET", "/api/push/\(id)").text.contains("shown") == false)
        }
    }

    @Test func `another app's push and an unknown one are not counted`() async throws {
        try await run { gateway in
            let id = try await publish(gateway)
            let unknown = PushID.ordered(at: gateway.store.time.now(), index: 0)
            let body = Self.body([(id.short, "shown", "c"), (unknown.short, "shown", "c")])
            let foreign = try await gateway.send("POST", "/api/receipts", body, user: "other-app:other-s")
            #expect(foreign.text == #"{"ok":true,"accepted":0,"late":0,"unknown":2}"#)
            let own = try await gateway.send("POST", "/api/receipts", body, user: Self.app)
            #expect(own.text == #"{"ok":true,"accepted":1,"late":0,"unknown":1}"#)
            let none = try await gateway.send("POST", "/api/receipts", Self.body([]), user: Self.app)
            #expect(none.text == #"{"ok":true,"accepted":0,"late":0,"unknown":0}"#)
        }
    }

    @Test func `a push without room for its mark, or with a member of that name, goes out as it is with a warning`()
        throws
    {
        func push(_ state: String, marks: Bool = true) throws -> PublishBody.Push {
            let activity = #"{"name":"n","event":"update","content_state":\#(state)}"#
            return try PublishBody.parse(
                Array(publishText(activity: activity).utf8), now: testNow, .init(marks: marks))[0]
        }
        func state(_ length: Int) -> String { #"{"a":"\#(String(repeating: "x", count: length))"}"# }
        let fixed = try push(state(0), marks: false).payload.count
        let mark = try push(state(0)).payload.count - fixed
        #expect(mark == 39)
        let most = try push(state(4_096 - fixed - mark))
        #expect(most.payload.count == 4_096 && most.isMarked && most.warnings.isEmpty)
        for length in [4_096 - fixed - mark + 1, 4_096 - fixed] {
            let full = try push(state(length))
            #expect(try full.payload == push(state(length), marks: false).payload && !full.isMarked)
            #expect(full.warnings.count == 1 && full.warnings[0].contains("no receipts"))
            #expect(full.payload(for: .random()) == full.payload)
        }
        let own = try push(#"{"lamplighter":"AAAAAAAAAAAAAAAAAAAAAA"}"#)
        #expect(!own.isMarked && own.warnings[0].contains("content_state.lamplighter"))
        #expect(own.payload(for: .random()) == own.payload)
        // A payload for the broadcast channel alone has a limit of its own.
        let large = try push(state(5_120 - fixed - mark))
        #expect(large.isMarked && large.payload.count == 5_120)
        #expect(try !push(state(5_120 - fixed)).isMarked)
    }

    @Test func `an end without a content state has no mark, and a dry run shows the place of the id`() async throws {
        try await run { gateway in
            let end = try await gateway.publish(publishText(activity: #"{"name":"order-1","event":"end"}"#))
            let id = try #require(PushID(try end.strings("push_ids")[0]))
            #expect(try await content(of: id, gateway).contains(#""event":"end"}}"#))
            let preview = try await gateway.publish(publishText(), path: "/api/push/validate")
            #expect(preview.text.contains(#"{"lamplighter":"AAAAAAAAAAAAAAAAAAAAAA","n":1}"#))
        }
    }

    @Test func `a schedule carries the id of its push, and a repeated publish the same one`() async throws {
        try await run { gateway in
            let schedule = #"{"schedule":{"scheduled_time":"2026-11-21T19:00:00"},"push":\#(publishText())}"#
            let reply = try await gateway.publish(schedule, path: "/api/schedules")
            let id = try #require(PushID(try reply.strings("schedule_ids")[0]))
            let stored = try #require(try await gateway.store.schedules.find(gateway.app, id))
            #expect(String(decoding: stored.payload, as: UTF8.self).contains(id.short))
            #expect(!String(decoding: stored.posted, as: UTF8.self).contains("lamplighter"))
            var ids: Set<PushID> = []
            for _ in 1...2 { ids.insert(try await publish(gateway, headers: [("Idempotency-Key", "k")])) }
            #expect(ids.count == 1)
            let first = try #require(ids.first)
            #expect(try await content(of: first, gateway).contains(first.short))
        }
    }

    private func run(_ body: (GatewayFixture) async throws -> Void) async throws {
        try await GatewayFixture.run(
            configure: { configuration in
                for index in configuration.apps.indices { configuration.apps[index].takesReceipts = true }
            }, body)
    }

    private func publish(_ gateway: GatewayFixture, headers: [(String, String)] = []) async throws -> PushID {
        let reply = try await gateway.publish(publishText(), headers: headers)
        return try #require(PushID(try reply.strings("push_ids")[0]))
    }

    private func content(of id: PushID, _ gateway: GatewayFixture) async throws -> String {
        try await gateway.send("GET", "/api/push/\(id)/content").text
    }

    private static func body(_ receipts: [(push: String, event: String, channel: String?)]) -> String {
        let entries = receipts.map { receipt in
            let channel = receipt.channel.map { #","channel_id":"\#($0)""# } ?? ""
            return #"{"push_id":"\#(receipt.push)","event":"\#(receipt.event)"\#(channel)}"#
        }
        return #"{"receipts":[\#(entries.joined(separator: ","))]}"#
    }
}
