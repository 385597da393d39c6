import Curl
import Foundation
import OpenSSL
import Testing

@testable import APNsSimulator

/// Tests every rule of Apple's page "Sending notification requests to APNs" that a sender can break, through libcurl.
@Suite(.timeLimit(.minutes(5)))
struct ChecksTests {
    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var status: Int
        var reason: String?
        var change: @Sendable (inout Request) throws -> Void

        init(
            _ name: String, _ status: Int, _ reason: String? = nil,
            _ change: @escaping @Sendable (inout Request) throws -> Void
        ) {
            (testDescription, self.status, self.reason, self.change) = (name, status, reason, change)
        }
    }

    struct Request {
        var method = "POST"
        var path = "/3/device/\(SimulatorFixture.token(1))"
        var headers: [(String, String)]
        var payload = SimulatorFixture.update(1_763_700_000)

        mutating func set(_ name: String, _ value: String?) {
            headers.removeAll { $0.0 == name }
            if let value { headers.append((name, value)) }
        }
    }

    static let cases: [Case] = [
        Case("a request by the rules", 200) { _ in },
        Case("no priority", 200) { $0.set("apns-priority", nil) },
        Case("priority 5", 200) { $0.set("apns-priority", "5") },
        Case("expiration 0", 200) { $0.set("apns-expiration", "0") },
        Case("collapse id of 64 bytes", 200) { $0.set("apns-collapse-id", String(repeating: "c", count: 64)) },
        Case("an unknown header", 200) { $0.set("x-request", "1") },
        Case("a scheme in capitals", 200) { request in
            let token = request.headers[0].1.dropFirst("bearer ".count)
            request.set("authorization", "Bearer \(token)")
        },
        Case("token in capitals", 200) { $0.path = "/3/device/" + SimulatorFixture.token(1).uppercased() },
        Case("payload of 4096 bytes", 200) { $0.payload = padded(4_096) },

        Case("another path", 404, "BadPath") { $0.path = "/3/devices/aa" },
        Case("a broadcast's version", 404, "BadPath") { $0.path = "/4/device/aa" },
        Case("something behind the token", 404, "BadPath") { $0.path += "/x" },
        Case("root", 404, "BadPath") { $0.path = "/" },
        Case("GET", 405, "MethodNotAllowed") { $0.method = "GET" },
        Case("PUT", 405, "MethodNotAllowed") { $0.method = "PUT" },

        Case("no authorization", 403, "MissingProviderToken") { $0.set("authorization", nil) },
        Case("an empty bearer", 403, "MissingProviderToken") { $0.set("authorization", "bearer ") },
        Case("another scheme", 403, "MissingProviderToken") { $0.set("authorization", "Basic YTpi") },
        Case("not a JWT", 403, "InvalidProviderToken") { $0.set("authorization", "bearer abc") },

        Case("no push type", 400, "InvalidPushType") { $0.set("apns-push-type", nil) },
        Case("push type alert", 400, "InvalidPushType") { $0.set("apns-push-type", "alert") },
        Case("no topic", 400, "MissingTopic") { $0.set("apns-topic", nil) },
        Case("topic with a space", 400, "BadTopic") { $0.set("apns-topic", "com.example delivery") },
        Case("topic of the suffix alone", 400, "BadTopic") { $0.set("apns-topic", ".push-type.liveactivity") },
        Case("another team's bundle id", 400, "TopicDisallowed") {
            $0.set("apns-topic", "com.other.push-type.liveactivity")
        },
        Case("no suffix", 400, "DeviceTokenNotForTopic") { $0.set("apns-topic", SimulatorFixture.bundleID) },
        Case("another suffix", 400, "DeviceTokenNotForTopic") {
            $0.set("apns-topic", SimulatorFixture.bundleID + ".voip")
        },
        Case("priority 7", 400, "BadPriority") { $0.set("apns-priority", "7") },
        Case("priority 1", 400, "BadPriority") { $0.set("apns-priority", "1") },
        Case("priority high", 400, "BadPriority") { $0.set("apns-priority", "high") },
        Case("expiration with a fraction", 400, "BadExpirationDate") { $0.set("apns-expiration", "1.5") },
        Case("expiration below 0", 400, "BadExpirationDate") { $0.set("apns-expiration", "-1") },
        Case("expiration in words", 400, "BadExpirationDate") { $0.set("apns-expiration", "tomorrow") },
        Case("id that is no UUID", 400, "BadMessageId") { $0.set("apns-id", "17") },
        Case("id in capitals", 400, "BadMessageId") { $0.set("apns-id", "EABEAE54-14A8-11E5-B60B-1697F925EC7B") },
        Case("collapse id of 65 bytes", 400, "BadCollapseId") {
            $0.set("apns-collapse-id", String(repeating: "c", count: 65))
        },
        Case("a header twice", 400, "DuplicateHeaders") { $0.headers.append(("apns-priority", "10")) },
        Case("two topics", 400, "DuplicateHeaders") { $0.headers.append(("apns-topic", SimulatorFixture.topic)) },

        Case("no payload", 400, "PayloadEmpty") { $0.payload = "" },
        Case("payload of 4097 bytes", 413, "PayloadTooLarge") { $0.payload = padded(4_097) },
        Case("payload of a megabyte", 413, "PayloadTooLarge") { $0.payload = padded(1 << 20) },

        Case("no token", 400, "MissingDeviceToken") { $0.path = "/3/device/" },
        Case("token that is not hex", 400, "BadDeviceToken") {
            $0.path = "/3/device/" + String(repeating: "xy", count: 40)
        },
        Case("token of odd length", 400, "BadDeviceToken") { $0.path += "a" },
        Case("token of 31 bytes", 400, "BadDeviceToken") {
            $0.path = "/3/device/" + String(repeating: "ab", count: 31)
        },
        Case("token of 513 bytes", 400, "BadDeviceToken") {
            $0.path = "/3/device/" + String(repeating: "ab", count: 513)
        },
    ]

    static func padded(_ size: Int) -> String {
        let start = #"{"aps":{"timestamp":1763700000,"event":"update","content-state":{"x":""#
        return start + String(repeating: "x", count: size - start.utf8.count - 4) + #""}}}"#
    }

    @Test func `every rule`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            for test in Self.cases {
                var request = Request(headers: fixture.headers())
                try test.change(&request)
                let answer = try await fixture.push(
                    payload: request.payload, method: request.method, path: request.path, headers: request.headers)
                #expect(answer.status == test.status, "\(test.testDescription)")
                #expect(answer.reason == test.reason, "\(test.testDescription)")
                #expect(answer.id.flatMap { MessageID($0) } != nil, "\(test.testDescription): apns-id")
            }
            let record = fixture.simulator.snapshot()
            #expect(record.requests == Self.cases.count)
            #expect(record.accepted == Self.cases.count { $0.status == 200 })
            for reason in Set(Self.cases.compactMap(\.reason)) {
                #expect(record.byReason[reason] == Self.cases.count { $0.reason == reason }, "\(reason)")
            }
            #expect(record.byStatus.values.reduce(0, +) == Self.cases.count)
            #expect(record.inFlight == 0)
        }
    }

    @Test func `an id is echoed and otherwise made`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let id = "eabeae54-14a8-11e5-b60b-1697f925ec7b"
            let given = try await fixture.push(headers: fixture.headers() + [("apns-id", id)])
            #expect(given.id == id)
            let first = try await fixture.push()
            let second = try await fixture.push()
            #expect(first.id != nil && first.id != second.id)
        }
    }

    /// A key without bundle ids may use any well-formed topic.
    @Test func `any bundle id`() async throws {
        try await SimulatorFixture.run({ $0.keys[0].bundleIDs = [] }) { fixture async throws in
            var headers = fixture.headers()
            headers[2].1 = "org.any.push-type.liveactivity"
            let answer = try await fixture.push(headers: headers)
            #expect(answer.status == 200)
        }
    }

    /// The simulator's own key is for one app, so it may not use the topic of another.
    @Test func `bundle i ds of its own key`() async throws {
        try await SimulatorFixture.run({
            $0.keys = []
            $0.bundleIDs = [SimulatorFixture.bundleID]
        }) { fixture async throws in
            let own = try #require(fixture.simulator.keys.first)
            guard case .file(let path) = own.material else { throw CocoaError(.fileNoSuchFile) }
            let key = try P256SigningKey(pem: Array(Data(contentsOf: URL(fileURLWithPath: path))))
            let token = try fixture.jwt(kid: own.keyID, iss: own.teamID, key: key)
            var headers = fixture.headers()
            headers[0].1 = "bearer \(token)"
            #expect(try await fixture.push(headers: headers).status == 200)
            headers[2].1 = "com.example.other.push-type.liveactivity"
            #expect(try await fixture.push(headers: headers).reason == "TopicDisallowed")
        }
    }
}
