import Curl
import Foundation
import Testing

@testable import APNsSimulator

/// Tests `POST /4/broadcasts/apps/<bundle id>`: its rules, its record, its faults.
@Suite(.timeLimit(.minutes(5)))
struct BroadcastTests {
    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var status: Int
        var reason: String?
        var change: @Sendable (inout Request) -> Void

        init(
            _ name: String, _ status: Int, _ reason: String? = nil,
            _ change: @escaping @Sendable (inout Request) -> Void
        ) {
            (testDescription, self.status, self.reason, self.change) = (name, status, reason, change)
        }
    }

    struct Request {
        /// A channel without storage, and one that keeps the newest message.
        let channel: String
        let storing: String
        var method = "POST"
        var path = SimulatorFixture.broadcastPath
        var headers: [(String, String)]
        var authorization: String?
        var payload = SimulatorFixture.update(1_763_700_000)

        mutating func set(_ name: String, _ value: String?) {
            headers.removeAll { $0.0 == name }
            if let value { headers.append((name, value)) }
        }
    }

    static let cases: [Case] = [
        Case("a broadcast by the rules", 200) { _ in },
        Case("priority 5", 200) { $0.set("apns-priority", "5") },
        Case("a request id", 200) { $0.set("apns-request-id", "eabeae54-14a8-11e5-b60b-1697f925ec7b") },
        Case("payload of 5120 bytes", 200) { $0.payload = ChecksTests.padded(5_120) },
        Case("an expiration on a storing channel", 200) {
            $0.set("apns-channel-id", $0.storing)
            $0.set("apns-expiration", "1795276800")
        },
        Case("none on a storing channel", 200) { $0.set("apns-channel-id", $0.storing) },

        Case("another path", 404, "BadPath") { $0.path = "/4/broadcasts/\(SimulatorFixture.bundleID)" },
        Case("no bundle id", 404, "BadPath") { $0.path = "/4/broadcasts/apps/" },
        Case("something behind it", 404, "BadPath") { $0.path += "/channels" },
        Case("GET", 405, "MethodNotAllowed") { $0.method = "GET" },
        Case("no authorization", 403, "MissingProviderToken") { $0.authorization = "" },
        Case("not a JWT", 403, "InvalidProviderToken") { $0.authorization = "bearer abc" },
        Case("another team's app", 403, "TopicMismatch") { $0.path = "/4/broadcasts/apps/com.other" },
        Case("a topic", 400, "BadRequestParams") { $0.set("apns-topic", SimulatorFixture.topic) },
        Case("a header twice", 400, "DuplicateHeaders") { $0.headers.append(("apns-priority", "10")) },
        Case("a request id that is no UUID", 400, "BadMessageId") { $0.set("apns-request-id", "17") },
        Case("no channel", 400, "MissingChannelId") { $0.set("apns-channel-id", nil) },
        Case("a channel that is not base64", 400, "BadChannelId") { $0.set("apns-channel-id", "a channel") },
        Case("a channel without padding", 400, "BadChannelId") { $0.set("apns-channel-id", "YWI") },
        Case("an oversized channel", 400, "BadChannelId") {
            $0.set("apns-channel-id", String(repeating: "YWJj", count: 40))
        },
        Case("an unknown channel", 400, "ChannelNotRegistered") { $0.set("apns-channel-id", "c29tZUNoYW5uZWw=") },
        Case("no push type", 400, "MissingPushType") { $0.set("apns-push-type", nil) },
        Case("push type alert", 400, "InvalidPushType") { $0.set("apns-push-type", "alert") },
        Case("no expiration", 400, "BadExpirationDate") { $0.set("apns-expiration", nil) },
        Case("expiration in words", 400, "BadExpirationDate") { $0.set("apns-expiration", "tomorrow") },
        Case("an expiration without storage", 400, "BadExpirationDate") { $0.set("apns-expiration", "1795276800") },
        Case("no priority", 400, "BadPriority") { $0.set("apns-priority", nil) },
        Case("priority 7", 400, "BadPriority") { $0.set("apns-priority", "7") },
        Case("no payload", 400, "PayloadEmpty") { $0.payload = "" },
        Case("payload of 5121 bytes", 413, "PayloadTooLarge") { $0.payload = ChecksTests.padded(5_121) },
    ]

    @Test func `every rule`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let channel = try await fixture.createChannel()
            let storing = try await fixture.createChannel(storesNewest: true)
            for test in Self.cases {
                var request = Request(
                    channel: channel, storing: storing, headers: SimulatorFixture.broadcastHeaders(channel))
                test.change(&request)
                let reply = try await fixture.broadcast(
                    request.headers, payload: request.payload, method: request.method, path: request.path,
                    authorization: request.authorization)
                #expect(reply.status == test.status, "\(test.testDescription)")
                #expect(reply.reason == test.reason, "\(test.testDescription)")
                let isAnotherPath = !request.path.hasPrefix(RequestHead.broadcastPath)
                #expect(isAnotherPath || reply.requestID.flatMap { MessageID($0) } != nil, "\(test.testDescription)")
            }
            let record = fixture.simulator.snapshot()
            // The request on the other path counts as a device's.
            #expect(record.broadcasts.requests == Self.cases.count - 1 && record.requests == 1)
            #expect(record.broadcasts.accepted == Self.cases.count { $0.status == 200 })
            #expect(record.accepted == 0 && record.inFlight == 0)
        }
    }

    /// Subscribers show the newest state, even after late or repeated messages, and nothing after the end.
    @Test func `the record of a channel`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let channel = try await fixture.createChannel(storesNewest: true)
            let headers = SimulatorFixture.broadcastHeaders(channel)
            let events: [(timestamp: Int, event: String, goals: Int)] = [
                (1_763_700_000, "update", 0), (1_763_700_002, "update", 2), (1_763_700_002, "update", 2),
                (1_763_700_001, "update", 1), (1_763_700_003, "start", 3), (1_763_700_004, "end", 4),
                (1_763_700_005, "update", 5),
            ]
            for (timestamp, event, goals) in events {
                let payload = SimulatorFixture.update(timestamp, event: event, state: #"{"goals":\#(goals)}"#)
                #expect(try await fixture.broadcast(headers, payload: payload).status == 200)
            }
            let report = try #require(fixture.simulator.channel(channel))
            #expect(report.storesNewest && report.bundleID == SimulatorFixture.bundleID && report.deletedAt == nil)
            #expect(report.received.accepted == 7 && report.received.contentState == #"{"goals":4}"#)
            #expect(report.received.duplicates == 1 && report.received.outOfOrder == 1)
            #expect(report.received.afterEnd == 1 && report.received.ignoredByDevice == 1)
            let totals = fixture.simulator.snapshot().broadcasts
            #expect(totals.accepted == 7 && totals.outOfOrder == 1 && totals.droppedByDevice == 1)
            #expect(totals.ignoredByDevice == ["a broadcast cannot start an activity": 1])

            let lines = try await fixture.control("GET", "/channels").text.split(separator: "\n")
            #expect(lines.count == 1)
            #expect(
                lines.first?.hasPrefix(
                    #"{"channel":"\#(channel)","bundle_id":"com.example.delivery","storage":"newest""#) == true)
            let encoded = channel.replacing("/", with: "%2F").replacing("+", with: "%2B").replacing("=", with: "%3D")
            let one = try await fixture.control("GET", "/channels/\(encoded)")
            let object = try #require(try JSONSerialization.jsonObject(with: Data(one.text.utf8)) as? [String: Any])
            #expect((object["history"] as? [Any])?.count == 7 && object["event"] as? String == "end")

            // A reset forgets what was received, but keeps the channel.
            #expect(try await fixture.control("POST", "/reset").status == 200)
            #expect(fixture.simulator.channel(channel)?.received.requests == 0)
            #expect(try await fixture.broadcast(headers).status == 200)
        }
    }

    @Test func `faults`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let channel = try await fixture.createChannel()
            let headers = SimulatorFixture.broadcastHeaders(channel)
            func set(_ json: String) async throws {
                #expect(try await fixture.control("POST", "/faults", json).status == 200)
            }
            try await set(#"{"broadcast_rejections":{"TooManyRequests":1}}"#)
            let limited = try await fixture.broadcast(headers)
            #expect(limited.status == 429 && limited.reason == "TooManyRequests" && limited.retryAfter == nil)
            #expect(try await fixture.push().status == 200)
            try await set(#"{"broadcast_rejections":{"TooManyRequests":1},"retry_after_s":17}"#)
            let busy = try await fixture.broadcast(headers)
            #expect(busy.retryAfter == "17" && busy.requestID != nil)
            try await set(#"{"manage_rejections":{"TooManyRequests":1},"retry_after_s":17}"#)
            let managed = try await fixture.manage("GET", headers: [("apns-channel-id", channel)])
            #expect(managed.status == 429 && managed.retryAfter == "17" && managed.requestID != nil)

            // Random faults of devices do not affect the channel, but faults of credentials affect every request.
            try await set(#"{"rejections":{"InternalServerError":1},"dead_share":1}"#)
            #expect(try await fixture.broadcast(headers).status == 200)
            try await set(#"{"expire_next":1}"#)
            #expect(try await fixture.broadcast(headers).reason == "ExpiredProviderToken")
            try await set(#"{"reset_share":1,"reset_delivers":true}"#)
            await #expect(throws: HTTPFailure.self) { try await fixture.broadcast(headers) }
            try await set("{}")
            #expect(fixture.simulator.snapshot().broadcasts.acceptedUnanswered == 1)

            // Delete the channel without its owner's request.
            let path = "/channels/\(channel.replacing("/", with: "%2F"))"
            #expect(try await fixture.control("DELETE", path).status == 200)
            #expect(try await fixture.control("DELETE", path).status == 404)
            let gone = try await fixture.broadcast(headers)
            #expect(gone.status == 400 && gone.reason == "ChannelNotRegistered")
            #expect(fixture.simulator.channel(channel)?.deletedAt != nil)

            for refused in [#"{"manage_rejections":{"Nonsense":1}}"#, #"{"broadcast_rejections":{"Shutdown":2}}"#] {
                #expect(try await fixture.control("POST", "/faults", refused).status == 400)
            }
        }
    }
}
