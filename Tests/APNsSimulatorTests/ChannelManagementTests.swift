import Curl
import Foundation
import Testing

@testable import APNsSimulator

/// Tests Apple's page "Sending channel management requests to APNs" through libcurl.
@Suite(.timeLimit(.minutes(5)))
struct ChannelManagementTests {
    static let create = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#

    private func list(_ fixture: SimulatorFixture) async throws -> [String] {
        let reply = try await fixture.manage("GET", path: "/1/apps/\(SimulatorFixture.bundleID)/all-channels")
        #expect(reply.status == 200)
        let object = try JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [String: [String]]
        return try #require(object?["channels"])
    }

    @Test func `the life of a channel`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            #expect(try await list(fixture) == [])
            let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
            let created = try await fixture.manage("POST", headers: [("apns-request-id", id)], body: Self.create)
            #expect(created.status == 201 && created.requestID == id && created.body.isEmpty)
            let channel = try #require(created.channel)
            #expect(Data(base64Encoded: channel)?.count == 16)
            let other = try await fixture.createChannel()
            #expect(try await list(fixture) == [channel, other])

            let read = try await fixture.manage("GET", headers: [("apns-channel-id", channel)])
            #expect(read.status == 200 && read.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
            let none = try await fixture.manage("GET", headers: [("apns-channel-id", other)])
            #expect(none.body == #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)

            let deleted = try await fixture.manage("DELETE", headers: [("apns-channel-id", channel)])
            #expect(deleted.status == 204 && deleted.body.isEmpty)
            for method in ["DELETE", "GET"] {
                let gone = try await fixture.manage(method, headers: [("apns-channel-id", channel)])
                #expect(gone.status == 400 && gone.reason == "ChannelNotRegistered")
            }
            #expect(try await list(fixture) == [other])
            let record = fixture.simulator.snapshot()
            #expect(record.broadcasts.created == 2 && record.broadcasts.deleted == 1)
            #expect(record.broadcasts.manageByReason == ["ChannelNotRegistered": 2])
            // The counts of the push service are separate.
            #expect(record.requests == 0 && record.connections == 0 && record.inFlight == 0)
        }
    }

    @Test func `every refusal`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let app = SimulatorFixture.channelsPath
            let cases: [(name: String, reason: String, status: Int, reply: SimulatorFixture.ChannelReply)] = [
                ("another path", "BadPath", 404, try await fixture.manage("GET", path: "/1/apps")),
                ("an id in the path", "BadPath", 404, try await fixture.manage("GET", path: app + "/abc")),
                ("a device", "BadPath", 404, try await fixture.manage("POST", path: "/3/device/ab", body: "{}")),
                ("PUT", "MethodNotAllowed", 405, try await fixture.manage("PUT", body: Self.create)),
                (
                    "POST to all", "MethodNotAllowed", 405,
                    try await fixture.manage("POST", path: "/1/apps/x/all-channels", body: Self.create)
                ),
                ("no token", "MissingProviderToken", 403, try await fixture.manage("GET", authorization: "")),
                ("no JWT", "InvalidProviderToken", 403, try await fixture.manage("GET", authorization: "bearer a")),
                ("another app", "TopicMismatch", 403, try await fixture.manage("GET", path: "/1/apps/com.o/channels")),
                ("no channel", "MissingChannelId", 400, try await fixture.manage("GET")),
                (
                    "no base64", "BadChannelId", 400,
                    try await fixture.manage("DELETE", headers: [("apns-channel-id", "?")])
                ),
                ("no body", "BadRequestPayload", 400, try await fixture.manage("POST")),
                ("no JSON", "BadRequestPayload", 400, try await fixture.manage("POST", body: "channel")),
                (
                    "no push type", "MissingPushType", 400,
                    try await fixture.manage("POST", body: #"{"message-storage-policy":1}"#)
                ),
                (
                    "the header's spelling", "InvalidPushType", 400,
                    try await fixture.manage("POST", body: #"{"message-storage-policy":1,"push-type":"liveactivity"}"#)
                ),
                (
                    "policy 2", "BadRequestPayload", 400,
                    try await fixture.manage("POST", body: #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#)
                ),
            ]
            for test in cases {
                #expect(test.reply.status == test.status, "\(test.name)")
                #expect(test.reply.reason == test.reason, "\(test.name)")
            }
            #expect(try await list(fixture) == [])
        }
    }

    @Test func `a full app`() async throws {
        try await SimulatorFixture.run({ $0.channelLimit = 2 }) { fixture async throws in
            let first = try await fixture.createChannel()
            _ = try await fixture.createChannel()
            let full = try await fixture.manage("POST", body: Self.create)
            #expect(full.status == 400 && full.reason == "CannotCreateChannelConfig")
            #expect(try await fixture.manage("DELETE", headers: [("apns-channel-id", first)]).status == 204)
            _ = try await fixture.createChannel()
        }
    }

    @Test func `faults`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            var faults = Faults()
            faults.manageRejections = ["FeatureNotEnabled": 1]
            try fixture.simulator.setFaults(faults)
            let off = try await fixture.manage("POST", body: Self.create)
            #expect(off.status == 400 && off.reason == "FeatureNotEnabled")

            // The channel is created but no response tells so, which makes it an orphan.
            faults.manageRejections = [:]
            faults.manageLoseNext = 1
            try fixture.simulator.setFaults(faults)
            await #expect(throws: HTTPFailure.self) { try await fixture.manage("POST", body: Self.create) }
            #expect(try await list(fixture).count == 1)
            #expect(fixture.simulator.faults.manageLoseNext == 0)
        }
    }

    /// The list is longer than the client's window, so it comes in parts.
    @Test func `a long list`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let connection = try await RawConnection.open(fixture.simulator, port: fixture.simulator.managePort)
            let headers = [("authorization", "bearer \(fixture.providerToken)")]
            // A hundred at once, so that a slow machine is not asked to wait three thousand times.
            let (count, atOnce) = (3_000, 100)
            for first in stride(from: 0, to: count, by: atOnce) {
                for number in first..<first + atOnce {
                    try await connection.send(
                        RawConnection.request(
                            number, path: SimulatorFixture.channelsPath, payload: Self.create, headers: headers))
                }
                var created = 0
                _ = try await connection.first { frame in
                    guard frame.type == FrameType.headers.rawValue else { return nil as Bool? }
                    #expect(frame.status == 201)
                    created += 1
                    return created == atOnce ? true : nil
                }
            }
            try await connection.send(
                RawConnection.request(
                    count, method: "GET", path: "/1/apps/\(SimulatorFixture.bundleID)/all-channels", payload: "",
                    headers: headers))
            var body: [UInt8] = []
            func part(_ frame: RawConnection.Frame) -> Bool? {
                guard frame.type == FrameType.data.rawValue else { return nil }
                body += frame.payload
                return frame.endsStream
            }
            while body.count < 65_535 { #expect(try await connection.first(part) == false) }
            #expect(body.count == 65_535)
            try await connection.allow(1 << 20, stream: count)
            while try await !connection.first(part) {}
            let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: [String]]
            #expect(Set(object?["channels"] ?? []).count == count)
            await connection.close()
        }
    }
}
