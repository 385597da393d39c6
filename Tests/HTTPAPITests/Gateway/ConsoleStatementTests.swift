import LiveActivity
import Redis
import StrictJSON
import TestSupport
import Testing

@testable import Console
@testable import HTTPAPI
@testable import Store

/// What pages say is so: about the thing that was asked for, and as it is.
@Suite struct ConsoleStatementTests {
    @Test func `why a device missed a push is said about this push first`() async throws {
        try await GatewayFixture.run { gateway in
            let id = try await gateway.deadLetter("match-1")
            let store = gateway.store
            let tag = store.keys.tag(try gateway.app, try ActivityName("match-1"))
            let device = RedisArgument.bytes(try ChannelID("phone-1").stored)
            try await store.redis.run("HSET", store.keys.deadChannels(tag, id), device, "PayloadTooLarge")
            let (browser, _) = try await ConsoleBrowser.start(gateway)
            let asked = try await browser.get("/console/pushes/\(id)?device=phone-1").text
            let missed = try #require(asked.firstRange(of: "This push did not reach phone-1"), "\(asked)")
            let next = try #require(asked.firstRange(of: "the next update of"), "\(asked)")
            #expect(missed.lowerBound < next.lowerBound && asked.contains("the content state is too large"))
            let other = try await browser.get("/console/pushes/\(id)?device=phone-2").text
            #expect(other.contains("No failure of phone-2 is kept"), "\(other)")
        }
    }

    @Test func `an update of a closed name is refused before the question, as the API refuses it`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            _ = try await gateway.publish(
                publishText(activity: #"{"name":"match-1","event":"end","content_state":{}}"#))
            let (browser, token) = try await ConsoleBrowser.start(gateway)
            let fields: KeyValuePairs = [
                "csrf": token, "action": "publish", "name": "match-1", "event": "update", "state": "{}",
                "audience": "all",
            ]
            let page = try await browser.submit("/console/compose", fields).text
            #expect(page.contains("Name: was closed by an end") && !page.contains("Publish to"), "\(page)")
        }
    }

    @Test func `an alarm that keeps nothing from a device is no reason`() async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.follow("match-1")
            let app = try gateway.app
            for kind in Alarm.Kind.all {
                try await gateway.store.alarms.raise(app, kind, "r")
                let steps = Runbook.steps(kind.runbook, alarm: kind.rawValue)
                #expect(steps.contains { $0.title == "Do" && !$0.markup.isEmpty }, "\(kind.rawValue): \(steps)")
            }
            let reply = try await gateway.send("GET", "/api/activities/match-1/channels/c")
            let reasons = try reply.object.required("reasons").array().map { try $0.object().required("text").string() }
            #expect(
                Set(reasons.filter { $0.hasPrefix("Alarm ") }) == [
                    "Alarm credentials: r.", "Alarm unreachable: r.", "Alarm newer_format: r.",
                    "Alarm redis_rights: r.",
                ], "\(reasons)")
        }
    }
}
