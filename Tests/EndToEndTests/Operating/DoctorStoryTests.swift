import Foundation
import TestSupport
import Testing

/// What `doctor` finds beside Redis, keys and APNs.
@Suite("Doctor")
struct DoctorStoryTests {
    @Test func `it tries the collector, and says what is odd about the settings`() async throws {
        let receiver = try HTTPSReceiver()
        let deployment = try await Deployment.start()
        func doctor(_ change: [String: String], code: Int32 = 0, _ lines: Regex<Substring>...) async throws {
            let checked = try await deployment.run("doctor", environment: change)
            #expect(checked.code == code, "\(checked)")
            for line in lines { #expect(checked.out.contains(line), "\(checked.out)") }
        }
        let collector = String(receiver.url.dropLast("/hook".count))
        try await doctor(
            [
                "LAMPLIGHTER_TRACES_ENDPOINT": "http://127.0.0.1:\(try freePort())",
                "LAMPLIGHTER_GATEWAY_HOST": "0.0.0.0",
            ],
            /! traces +http:\/\/127\.0\.0\.1:\d+: .*connect/,
            /! gateway TLS +other machines reach this gateway without TLS/)
        #expect(receiver.requests.isEmpty)
        try await doctor(
            ["LAMPLIGHTER_TRACES_ENDPOINT": collector, "LAMPLIGHTER_TRACES_CA_FILE": receiver.caFile],
            /✓ traces +https:\/\/localhost:\d+ takes spans/)
        #expect(receiver.requests.map(\.line) == ["POST /v1/traces HTTP/1.1"])
        try await doctor(
            ["LAMPLIGHTER_APP_BUNDLE_ID": "com.example.shop.push-type.liveactivity"], code: 78,
            /LAMPLIGHTER_APP_BUNDLE_ID must be a bundle id without \.push-type\.liveactivity/)
        try await doctor(
            ["LAMPLIGHTER_APP_MASTER_SECRET": "shop-secret"], code: 78,
            /LAMPLIGHTER_APP_MASTER_SECRET: it must differ from LAMPLIGHTER_APP_SECRET/)
    }
}
