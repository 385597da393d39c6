import Foundation
import Logging
import Testing

@testable import APNsSimulator

/// Tests Google's endpoint for access tokens.
@Suite(.timeLimit(.minutes(5)))
struct AccessTokenTests {
    @Test func `an assertion gets an access token`() async throws {
        try await FCMFixture.run({ $1.accessTokenLife = 100 }) { fixture async throws in
            let answer = try await fixture.exchange(FCMFixture.form(try await fixture.assertion()))
            #expect(answer.status == 200)
            #expect(answer.json["expires_in"] as? Int == 100 && answer.json["token_type"] as? String == "Bearer")
            let token = try #require(answer.json["access_token"] as? String)
            #expect(try await fixture.send(token, FCMFixture.message()).status == 200)
            let again = try await fixture.exchange(FCMFixture.form(try await fixture.assertion()), http2: true)
            #expect(again.status == 200 && again.json["access_token"] as? String != token)
            let old = try await fixture.post(
                fixture.sendPath, FCMFixture.headers(token), FCMFixture.message(), http2: false)
            #expect(old.status == 200)
            let record = fixture.simulator.fcmSnapshot()
            #expect(record.tokenRequests == 2 && record.inFlight == 0 && record.connections == 4)
            let path = try #require(fixture.simulator.serviceAccountFile)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(fixture.account["token_uri"] == fixture.url + "/token")
            #expect(fixture.account["type"] == "service_account")
            #expect(fixture.account["project_id"] == "lamplighter-simulator")
        }
    }

    /// Another start in the same directory uses the key again, so an account that was copied stays valid.
    @Test func `the key stays`() async throws {
        try await FCMFixture.run { fixture async throws in
            var configuration = SimulatorConfiguration(certificateDirectory: fixture.directory)
            configuration.fcm = FCMConfiguration()
            let second = try await APNsSimulator.start(configuration, logger: .init(label: "simulator"))
            let text = try Data(contentsOf: URL(fileURLWithPath: try #require(second.serviceAccountFile)))
            let account = try #require(try JSONSerialization.jsonObject(with: text) as? [String: String])
            await second.stop()
            #expect(account["private_key"] == fixture.account["private_key"])
            #expect(account["token_uri"] != fixture.account["token_uri"])
        }
    }

    @Test func `wrong assertions`() async throws {
        try await FCMFixture.run { fixture async throws in
            let now = Int(Date().timeIntervalSince1970)
            let good = try await fixture.assertion()
            let cases: [(form: String, code: String, words: String)] = [
                (FCMFixture.form(good.dropLast(4) + "AAAA"), "invalid_grant", "Invalid JWT Signature."),
                (FCMFixture.form("a.b"), "invalid_grant", "decode"),
                (FCMFixture.form(good, grantType: "password"), "unsupported_grant_type", "grant_type"),
                ("assertion=\(good)", "unsupported_grant_type", "grant_type"),
                (FCMFixture.form(try await fixture.assertion(header: ["kid": "x"])), "invalid_grant", "Signature"),
                (FCMFixture.form(try await fixture.assertion(header: ["alg": "ES256"])), "invalid_grant", "Signature"),
                (FCMFixture.form(try await fixture.assertion(["iss": "\"me\""])), "invalid_grant", "not found"),
                (FCMFixture.form(try await fixture.assertion(["aud": "\"x\""])), "invalid_grant", "audience"),
                (FCMFixture.form(try await fixture.assertion(["scope": "\"openid\""])), "invalid_scope", "scope"),
                (FCMFixture.form(try await fixture.assertion(["scope": nil])), "invalid_scope", "scope"),
                (
                    FCMFixture.form(try await fixture.assertion(["exp": "\(now + 3_700)"])), "invalid_grant",
                    "60 minutes"
                ),
                (FCMFixture.form(try await fixture.assertion(["iat": nil])), "invalid_grant", "60 minutes"),
                (
                    FCMFixture.form(try await fixture.assertion(["iat": "\(now - 7_200)", "exp": "\(now - 3_600)"])),
                    "invalid_grant", "60 minutes"
                ),
                (
                    FCMFixture.form(try await fixture.assertion(["iat": "\(now + 900)", "exp": "\(now + 4_000)"])),
                    "invalid_grant", "60 minutes"
                ),
            ]
            for test in cases {
                let answer = try await fixture.exchange(test.form)
                #expect(answer.status == 400 && answer.json["error"] as? String == test.code, "\(test.form) \(answer)")
                #expect((answer.json["error_description"] as? String)?.contains(test.words) == true, "\(answer)")
            }
            #expect(fixture.simulator.fcmSnapshot().tokenByReason.values.reduce(0, +) == cases.count)
            #expect(try await fixture.exchange(FCMFixture.form(good), type: "application/json").status == 400)
        }
    }

    @Test func `faults of the endpoint`() async throws {
        try await FCMFixture.run { fixture async throws in
            let form = FCMFixture.form(try await fixture.assertion())
            var faults = Faults()
            for (error, status) in [
                ("clock", 400), ("invalid_signature", 400), ("unavailable", 503), ("not_json", 503),
            ] {
                faults.tokenError = error
                try fixture.simulator.setFCMFaults(faults)
                let answer = try await fixture.exchange(form)
                #expect(answer.status == status && answer.json.isEmpty == (error == "not_json"), "\(answer)")
            }
            try fixture.simulator.setFCMFaults(Faults())
            #expect(try await fixture.exchange(form).status == 200)
        }
    }
}
