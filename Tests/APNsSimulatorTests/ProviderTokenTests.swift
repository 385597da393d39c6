import Foundation
import OpenSSL
import Testing

@testable import APNsSimulator

@Suite(.timeLimit(.minutes(5)))
struct ProviderTokenTests {
    @Test func `what is wrong with a token`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let now = Int(Date().timeIntervalSince1970)
            let good = try fixture.jwt()
            let parts = good.split(separator: ".").map(String.init)
            let other = try fixture.jwt(iat: "\(now - 60)").split(separator: ".").map(String.init)
            let cases: [(name: String, token: String, reason: String?)] = [
                ("good", good, nil),
                ("55 minutes old", try fixture.jwt(iat: "\(now - 3_300)"), nil),
                ("over an hour old", try fixture.jwt(iat: "\(now - 3_660)"), "ExpiredProviderToken"),
                ("from the future", try fixture.jwt(iat: "\(now + 300)"), "InvalidProviderToken"),
                ("iat as text", try fixture.jwt(iat: "\"\(now)\""), "InvalidProviderToken"),
                ("iat null", try fixture.jwt(iat: "null"), "InvalidProviderToken"),
                ("no kid", try fixture.jwt(kid: nil), "InvalidProviderToken"),
                ("another kid", try fixture.jwt(kid: "OTHERKEY00"), "InvalidProviderToken"),
                ("no iss", try fixture.jwt(iss: nil), "InvalidProviderToken"),
                ("another team", try fixture.jwt(iss: "OTHERTEAM0"), "InvalidProviderToken"),
                ("another key's signature", try fixture.jwt(key: SimulatorFixture.newKey()), "InvalidProviderToken"),
                ("alg HS256", try fixture.jwt(algorithm: "HS256"), "InvalidProviderToken"),
                ("alg none", try fixture.jwt(algorithm: "none"), "InvalidProviderToken"),
                ("another token's signature", "\(parts[0]).\(parts[1]).\(other[2])", "InvalidProviderToken"),
                ("no signature", "\(parts[0]).\(parts[1]).", "InvalidProviderToken"),
                ("two parts", "\(parts[0]).\(parts[1])", "InvalidProviderToken"),
                ("signature in DER", try Self.withDERSignature(fixture), "InvalidProviderToken"),
                ("padded", good + "=", "InvalidProviderToken"),
            ]
            for test in cases {
                let answer = try await fixture.push(headers: fixture.headers(jwt: test.token))
                #expect(answer.status == (test.reason == nil ? 200 : 403), "\(test.name)")
                #expect(answer.reason == test.reason, "\(test.name)")
            }
        }
    }

    private static func withDERSignature(_ fixture: SimulatorFixture) throws -> String {
        let parts = try fixture.jwt().split(separator: ".")
        let signed = "\(parts[0]).\(parts[1])"
        // Take a signature whose numbers both need a zero in front (one of four has), because then this is exact DER.
        var raw: [UInt8]
        repeat { raw = try fixture.key.es256(Array(signed.utf8)) } while raw[0] < 0x80 || raw[32] < 0x80
        let der = [0x30, 70, 0x02, 33, 0] + raw.prefix(32) + [0x02, 33, 0] + raw.suffix(32)
        return signed + "." + SimulatorFixture.base64URL(der)
    }

    @Test func `a token expires without being signed anew`() async throws {
        try await SimulatorFixture.run({ $0.clockOffset = 3_700 }) { fixture async throws in
            let answer = try await fixture.push()
            #expect(answer.status == 403)
            #expect(answer.reason == "ExpiredProviderToken")
        }
    }

    /// The second new token within twenty minutes on one connection is one update too many. The last
    /// good token still works.
    @Test func `too many updates`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let now = Int(Date().timeIntervalSince1970)
            let tokens = try (0..<3).map { try fixture.jwt(iat: "\(now - $0)") }
            let connection = try await RawConnection.open(fixture.simulator)
            var statuses: [Int?] = []
            for (index, token) in [tokens[0], tokens[1], tokens[2], tokens[1], tokens[0]].enumerated() {
                try await connection.push(index, headers: fixture.headers(jwt: token))
                statuses.append(try await connection.answer(stream: index).status)
            }
            #expect(statuses == [200, 200, 429, 200, 200])
            #expect(fixture.simulator.snapshot().byReason == ["TooManyProviderTokenUpdates": 1])
            // Another connection starts with no updates.
            let answer = try await fixture.push(headers: fixture.headers(jwt: tokens[2]))
            #expect(answer.status == 200)
            await connection.close()
        }
    }

    @Test func `updates counted per key span connections`() async throws {
        try await SimulatorFixture.run({ $0.providerTokenScope = .key }) { fixture async throws in
            let now = Int(Date().timeIntervalSince1970)
            var statuses: [Int] = []
            for age in 0..<3 {
                let headers = fixture.headers(jwt: try fixture.jwt(iat: "\(now - age)"))
                statuses.append(try await fixture.push(headers: headers).status)
            }
            #expect(statuses == [200, 200, 429])
        }
    }

    @Test func `a connection belongs to its first key`() async throws {
        let second = try P256SigningKey.generatePEM()
        let add: (inout SimulatorConfiguration) -> Void = {
            $0.keys.append(
                ProviderKey(
                    keyID: "SECONDKEY0", teamID: "SECONDTEAM",
                    material: .pem(String(decoding: second, as: UTF8.self)), bundleIDs: [SimulatorFixture.bundleID]))
        }
        try await SimulatorFixture.run(add) { fixture async throws in
            let other = try fixture.jwt(kid: "SECONDKEY0", iss: "SECONDTEAM", key: P256SigningKey(pem: second))
            let connection = try await RawConnection.open(fixture.simulator)
            try await connection.push(0, headers: fixture.headers())
            #expect(try await connection.answer(stream: 0).status == 200)
            try await connection.push(1, headers: fixture.headers(jwt: other))
            let answer = try await connection.answer(stream: 1)
            #expect(answer.status == 403)
            #expect(answer.body.contains("UnrelatedKeyIdInToken"))
            #expect(try await fixture.push(headers: fixture.headers(jwt: other)).status == 200)
            await connection.close()
        }
    }
}
