import Foundation
import Testing

@testable import LamplighterKit

/// The bytes that the kit sends. docs/ios-by-hand.md shows the same bodies.
@Suite struct WireRequestTests {
    private func request(_ report: Report) -> String {
        let wire = WireRequest(report, at: 1_795_284_000_000, channel: "c-1")
        let url = wire.url(at: URL(string: "https://push.example.com/ll/")!)?.absoluteString ?? ""
        return "\(wire.method) \(url) \(String(decoding: wire.body ?? Data(), as: UTF8.self))"
    }

    @Test func `a report has one form`() {
        let base = "PUT https://push.example.com/ll/api"
        #expect(
            request(
                .follow(.init(name: "a/b é", activity: "E0", token: "aa", hasFrequentPushes: true, startedAt: nil)))
                == base + "/activities/a%2Fb%20%C3%A9/channels/c-1 "
                + #"{"activity_id":"E0","frequent_pushes_enabled":true,"options":{"catch_up":true},"#
                + #""registered_at_ms":1795284000000,"token":"aa"}"#)
        #expect(
            request(
                .follow(.init(name: "m", activity: "E0", token: "aa", hasFrequentPushes: false, startedAt: 7)))
                == base + "/activities/m/channels/c-1 "
                + #"{"activity_id":"E0","frequent_pushes_enabled":false,"options":{"catch_up":true},"#
                + #""registered_at_ms":1795284000000,"started_at_ms":7,"token":"aa"}"#)
        #expect(
            request(.unfollow(.init(name: "m", activity: "E0")))
                == base + "/channels/sdk/batch/c-1?platform=ios "
                + #"{"live_activities":[{"action":"remove","action_ts_ms":1795284000000,"id":"E0","name":"m"}]}"#)
        #expect(
            request(.start(.init(attributesType: "MatchAttributes", token: "aa")))
                == base + "/start-tokens/MatchAttributes/channels/c-1 "
                + #"{"registered_at_ms":1795284000000,"token":"aa"}"#)
        #expect(
            request(.unstart(.init(attributesType: "MatchAttributes")))
                == base + "/channels/sdk/batch/c-1?platform=ios "
                + #"{"live_activities":[{"action":"remove","action_ts_ms":1795284000000,"#
                + #""attributes_type":"MatchAttributes","type":"start_token"}]}"#)
        #expect(
            request(.device(.init(system: "18.1")))
                == base + #"/channels/c-1 {"channel":{"device_os":"18.1","device_type":"ios"}}"#)
    }

    @Test func `receipts name no channel`() {
        let wire = WireRequest([Receipt(push: "AZ", event: .shown), Receipt(push: "AZ", event: .ended)])
        #expect(wire.method == "POST" && wire.path == ["api", "receipts"])
        #expect(
            String(decoding: wire.body ?? Data(), as: UTF8.self)
                == #"{"receipts":[{"event":"shown","push_id":"AZ"},{"event":"ended","push_id":"AZ"}]}"#)
    }

    @Test(arguments: [
        (200, #"{"ok":true,"result":"stale"}"#, Fate.done),
        (200, "<html>We will be back soon</html>", .again(after: 7, reason: "200 without the gateway's words")),
        (200, #"{"status":"maintenance"}"#, .again(after: 7, reason: "200 without the gateway's words")),
        (200, #"{"ok":false}"#, .again(after: 7, reason: "200 without the gateway's words")),
        (204, "", .again(after: 7, reason: "204 without the gateway's words")),
        (302, "<html>Sign in to the Wi-Fi</html>", .again(after: 7, reason: "302 without the gateway's words")),
        (200, #"{"ok":true,"problems":["live_activities[0]: no"]}"#, .refused("live_activities[0]: no")),
        (400, #"{"error":"no","error_code":40000}"#, .refused("400 no")),
        (
            400, #"{"error":"no","error_code":40000,"details":{"error":"no","path":"started_at_ms"}}"#, .withoutStart
        ),
        (401, #"{"error":"no","error_code":40101}"#, .again(after: 7, reason: "401 no")),
        (403, #"{"error":"off","error_code":40300}"#, .receiptsOff),
        (403, #"{"error":"no","error_code":40301}"#, .refused("403 no")),
        (404, "<html>nginx</html>", .again(after: 7, reason: "404 without the gateway's words")),
        (408, #"{"error":"slow","error_code":40800}"#, .again(after: 7, reason: "408 slow")),
        (429, #"{"error":"full","error_code":42900}"#, .again(after: 7, reason: "429 full")),
        (503, "", .again(after: 7, reason: "503 without the gateway's words")),
    ])
    func `an answer decides what becomes of a report`(_ status: Int, _ body: String, _ fate: Fate) {
        #expect(Fate(.answered(status: status, retryAfter: 7, date: nil, body: Data(body.utf8))) == fate)
    }

    @Test func `without an answer it is sent again`() {
        #expect(Fate(.unreachable("offline")) == .again(after: nil, reason: "offline"))
    }
}
