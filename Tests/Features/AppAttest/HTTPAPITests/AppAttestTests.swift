import LiveActivity
import OpenSSL
import TestSupport
import Testing

@testable import HTTPAPI

/// The steps of App Attest, each broken once.
@Suite struct AppAttestTests {
    private static let now = testNow / 1_000
    private static let data = "challenge:channel"

    @Test func `what Apple signed for a phone is right, at its time and for its app`() throws {
        typealias Sample = AttestationSample
        func point(
            team: String = Sample.teamID, _ environment: AppAttest.Environment = .development,
            at seconds: Int64 = Sample.seconds, data: String = Sample.clientData
        ) throws -> [UInt8] {
            let rules = AppAttest(teamID: team, bundleID: Sample.bundleID, environment: environment)
            return try rules.key(Sample.keyID, attestedBy: Sample.attestation, data, at: seconds)
        }
        let key = try point()
        #expect(Hex.encode(key.prefix(5)) == "0488c034a1")
        let rules = AppAttest(teamID: Sample.teamID, bundleID: Sample.bundleID, environment: .development)
        #expect(try rules.counter(of: Sample.assertion, signedBy: key, Sample.clientData) == 1)
        #expect(throws: AppAttest.Failure.self) {
            try rules.counter(of: Sample.assertion, signedBy: key, Sample.clientData + "x")
        }
        #expect(throws: AppAttest.Failure.self) { try point(team: "6MURL8TA58") }
        #expect(throws: AppAttest.Failure.self) { try point(.production) }
        #expect(throws: AppAttest.Failure.self) { try point(data: "x") }
        for days in [-4, 4] as [Int64] {
            #expect(throws: AppAttest.Failure.self) { try point(at: Sample.seconds + days * 86_400) }
        }
    }

    private static let faults: [(AttestingDevice.Fault, String)] = [
        (.init(nonce: Array(repeating: 7, count: 32)), "it is not for this challenge and channel"),
        (.init(nonce: []), "it is not for this challenge and channel"),
        (.init(appID: "TEAM123456.com.example.other"), "it is not of this app"),
        (.init(counter: 1), "its key was used before"),
        (.init(mark: "appattest"), "it is not of attestation.environment development"),
        (.init(credentialID: Array(repeating: 7, count: 32)), "its credential is not the key_id"),
        (.init(credentialID: []), "its credential is not the key_id"),
        (.init(format: "packed"), "it is no attestation object of App Attest"),
        (.init(leavesOutIntermediate: true), "the certificates do not lead to Apple's root"),
    ]

    @Test func `an attestation that breaks one rule is refused`() async throws {
        let device = try await AttestingDevice()
        let (rules, key) = (try device.rules(), try await device.key())
        func failure(_ body: () throws -> [UInt8]) -> String {
            let failure = #expect(throws: AppAttest.Failure.self) { try body() }
            return failure?.reason ?? ""
        }
        let right = try await device.attestation(key, Self.data)
        let point = try rules.key(key.id, attestedBy: right, Self.data, at: Self.now)
        #expect(Array(SHA256Digest(of: point)) == key.id)
        for (fault, reason) in Self.faults {
            let object = try await device.attestation(key, Self.data, fault)
            let found = failure { try rules.key(key.id, attestedBy: object, Self.data, at: Self.now) }
            #expect(found.hasPrefix(reason), "\(fault): \(found)")
        }
        let other = try await device.key()
        let ofOther = failure { try rules.key(other.id, attestedBy: right, Self.data, at: Self.now) }
        #expect(ofOther == "its credential is not the key_id")
        let named = try await device.attestation(key, Self.data, .init(credentialID: other.id))
        let ofAnotherKey = failure { try rules.key(other.id, attestedBy: named, Self.data, at: Self.now) }
        #expect(ofAnotherKey == "it is for another key_id")
        #expect(
            failure { try rules.key(key.id, attestedBy: right, Self.data, at: Self.now + 2 * 86_400) }
                == "the certificates do not lead to Apple's root: certificate has expired")
        #expect(
            failure { try rules.key(key.id, attestedBy: right, Self.data, at: Self.now - 86_400) }
                == "the certificates do not lead to Apple's root: certificate is not yet valid")
        let stranger = try await AttestingDevice().rules()
        #expect(
            failure { try stranger.key(key.id, attestedBy: right, Self.data, at: Self.now) }
                .hasPrefix("the certificates do not lead to Apple's root"))
        let large = try await device.key("P-384")
        let ofLarge = try await device.attestation(large, Self.data)
        #expect(
            failure { try rules.key(large.id, attestedBy: ofLarge, Self.data, at: Self.now) }
                .hasPrefix("the certificates do not lead to Apple's root"))
        for length in stride(from: 0, to: right.count, by: 7) {
            _ = failure { try rules.key(key.id, attestedBy: Array(right.prefix(length)), Self.data, at: Self.now) }
        }
    }

    @Test func `the signatures of certificates are checked last, and of no more than four`() async throws {
        let device = try await AttestingDevice()
        let (key, other) = (try await device.key(), try await device.key())
        // No chain leads to the root of this authority, so the reason tells whether its signatures were looked at.
        let stranger = try await AttestingDevice().rules()
        func reason(_ fault: AttestingDevice.Fault, of id: [UInt8]? = nil) async throws -> String? {
            let object = try await device.attestation(key, Self.data, fault)
            let failure = #expect(throws: AppAttest.Failure.self) {
                try stranger.key(id ?? key.id, attestedBy: object, Self.data, at: Self.now)
            }
            return failure?.reason
        }
        for (fault, words) in Self.faults where !fault.leavesOutIntermediate {
            #expect(try await reason(fault)?.hasPrefix(words) == true, "\(fault)")
        }
        #expect(try await reason(.init(credentialID: other.id), of: other.id) == "it is for another key_id")
        #expect(try await reason(.init())?.hasPrefix("the certificates do not lead") == true)
        #expect(try await reason(.init(moreCertificates: 2))?.hasPrefix("the certificates do not lead") == true)
        #expect(try await reason(.init(moreCertificates: 3)) == "it is no attestation object of App Attest")
    }

    @Test func `an assertion that breaks one rule is refused`() async throws {
        let device = try await AttestingDevice()
        let (rules, key) = (try device.rules(), try await device.key())
        let object = try await device.attestation(key, Self.data)
        let point = try rules.key(key.id, attestedBy: object, Self.data, at: Self.now)
        let right = try await device.assertion(key, Self.data, counter: 0xFFFF_FFFF)
        #expect(try rules.counter(of: right, signedBy: point, Self.data) == 0xFFFF_FFFF)
        let ofOther = try await device.assertion(device.key(), Self.data, counter: 1)
        let otherApp = try await device.assertion(key, Self.data, counter: 1, .init(appID: "A.b"))
        var changed = right
        changed[changed.count - 1] ^= 1
        for wrong in [ofOther, otherApp, changed, Array(right.dropLast()), object, []] {
            #expect(throws: AppAttest.Failure.self) { try rules.counter(of: wrong, signedBy: point, Self.data) }
        }
        #expect(throws: AppAttest.Failure.self) { try rules.counter(of: right, signedBy: point, "other:channel") }
        #expect(throws: AppAttest.Failure.self) { try rules.counter(of: right, signedBy: [4], Self.data) }
    }
}

@Suite struct CBORValueTests {
    @Test func `what App Attest uses is read`() throws {
        let value = try CBORValue([0xA3, 0x61, 0x61, 0x20, 0x61, 0x62, 0x82, 0x18, 0xFF, 0x41, 0x07, 0x61, 0x63, 0x60])
        #expect(value == .map(["a": .number(-1), "b": .array([.number(255), .bytes([7])]), "c": .text("")]))
        #expect(value["b"]?.array?.last?.bytes == [7] && value["d"] == nil)
    }

    private static let wrong: [[UInt8]] = [
        [], [0x18], [0x19, 1], [0x41], [0x61, 0xFF], [0x00, 0x00], [0x1C], [0x1F], [0x5F, 0x41, 1, 0xFF], [0x9F, 0xFF],
        [0xBF, 0xFF], [0xC0, 0x00], [0xF6], [0xF9, 0, 0], [0xA1, 0x00, 0x00], [0xA2, 0x61, 0x61, 0, 0x61, 0x61, 0],
        // Lengths of 2^64 − 1, 2^63, 2^32 and one too many.
        [0x5B] + [UInt8](repeating: 0xFF, count: 8), [0x7B, 0x80] + [UInt8](repeating: 0, count: 7),
        [0x9B] + [UInt8](repeating: 0xFF, count: 8), [0xBB] + [UInt8](repeating: 0xFF, count: 8),
        [0x1B] + [UInt8](repeating: 0xFF, count: 8), [0x3B] + [UInt8](repeating: 0xFF, count: 8),
        [0x5A, 1, 0, 0, 0], [0x42, 1], [0x82, 1], [0xA1, 0x61, 0x61],
        // Too deep, and too many.
        [0x81, 0x81, 0x81, 0x81, 0x81, 0], [0x91] + [UInt8](repeating: 0, count: 17),
    ]

    @Test(arguments: wrong) func `other bytes are refused`(_ bytes: [UInt8]) {
        #expect(throws: CBORValue.Failure.self) { try CBORValue(bytes) }
    }
}
