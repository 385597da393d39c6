import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// A copy of the app gets a token without its backend.
@Suite struct AttestationCallsTests {
    private let channel = "0f2a3c1e-5b77-4a3c-9d51-2f6d8a9b0c11"
    private let app = [("X-UA-Appkey", GatewayFixture.key)]

    private func challenge(_ gateway: GatewayFixture) async throws -> String {
        let reply = try await gateway.send("GET", "/api/auth/attest", user: nil, headers: app)
        #expect(reply.status == 200, "\(reply.text)")
        return try reply.string("challenge")
    }

    private func body(
        _ key: AttestingDevice.Key, _ challenge: String, _ kind: String, _ proof: [UInt8], channel: String? = nil
    ) -> String {
        """
        {"channel_id":"\(channel ?? self.channel)","key_id":"\(Base64.encode(key.id))","challenge":"\(challenge)",\
        "\(kind)":"\(Base64.encode(proof))"}
        """
    }

    private func ask(_ gateway: GatewayFixture, _ body: String) async throws -> Reply {
        try await gateway.send("POST", "/api/auth/attest", body, user: nil, headers: app)
    }

    @Test func `an attestation brings a token of the channel, and then assertions do`() async throws {
        let device = try await AttestingDevice()
        let (rules, key) = (try device.rules(), try await device.key())
        try await GatewayFixture.run(configure: { $0.apps[0].attestation = rules }) { gateway in
            let first = try await challenge(gateway)
            let object = try await device.attestation(key, "\(first):\(channel)")
            let attested = body(key, first, "attestation", object)
            let reply = try await ask(gateway, attested)
            #expect(reply.status == 200, "\(reply.text)")
            let token = try reply.string("token")
            let headers = [("Authorization", "Bearer \(token)")] + app
            for (path, status) in [(channel, 200), ("11111111-5b77-4a3c-9d51-2f6d8a9b0c11", 401)] {
                let followed = try await gateway.send(
                    "PUT", "/api/activities/match-42/channels/\(path)", #"{"token":"aabb"}"#, user: nil,
                    headers: headers)
                #expect(followed.status == status)
            }
            // The challenge was used.
            let again = try await ask(gateway, attested)
            #expect(again.status == 403 && again.text.contains("40304") && again.text.contains("was used before"))

            func assert(_ counter: UInt32, channel: String? = nil) async throws -> Reply {
                let challenge = try await challenge(gateway)
                let proof = try await device.assertion(
                    key, "\(challenge):\(channel ?? self.channel)", counter: counter)
                return try await ask(gateway, body(key, challenge, "assertion", proof, channel: channel))
            }
            for (counter, status) in [(1, 200), (1, 403), (5, 200), (4, 403), (0, 403), (6, 200)] as [(UInt32, Int)] {
                let reply = try await assert(counter)
                #expect(reply.status == status, "\(counter): \(reply.text)")
                #expect(reply.text.contains("its counter did not grow") == (status == 403))
            }
            let other = try await assert(7, channel: "11111111-5b77-4a3c-9d51-2f6d8a9b0c11")
            #expect(other.status == 403 && other.text.contains("40305"), "a key is of one channel")
            // Attesting the key once more does not turn its counter back.
            let second = try await challenge(gateway)
            let anew = try await device.attestation(key, "\(second):\(channel)")
            #expect(try await ask(gateway, body(key, second, "attestation", anew)).status == 200)
            #expect(try await assert(6).status == 403)
        }
    }

    @Test func `a refused attestation changes nothing`() async throws {
        let device = try await AttestingDevice()
        let (rules, key, second) = (try device.rules(), try await device.key(), try await device.key())
        try await GatewayFixture.run(configure: { $0.apps[0].attestation = rules }) { gateway in
            let used = try await challenge(gateway)
            let first = try await device.attestation(key, "\(used):\(channel)")
            #expect(try await ask(gateway, body(key, used, "attestation", first)).status == 200)
            let object = try await device.attestation(second, "\(used):\(channel)")
            let refused = try await ask(gateway, body(second, used, "attestation", object))
            #expect(refused.status == 403 && refused.text.contains("was used before"))
            let next = try await challenge(gateway)
            let proof = try await device.assertion(second, "\(next):\(channel)", counter: 1)
            let asserted = try await ask(gateway, body(second, next, "assertion", proof))
            #expect(asserted.status == 403 && asserted.text.contains("40305"), "\(asserted.text)")
        }
    }

    @Test func `a network sends ten false proofs a minute, and others go on`() async throws {
        let device = try await AttestingDevice()
        let (rules, key) = (try device.rules(), try await device.key())
        let setUp: @Sendable (inout GatewayConfiguration) -> Void = {
            $0.apps[0].attestation = rules
            $0.trustedProxies = TrustedProxies(AddressRanges("127.0.0.1")!)
        }
        try await GatewayFixture.run(configure: setUp) { gateway in
            let challenge = try await challenge(gateway)
            let proof = try await device.attestation(key, "\(challenge):\(channel)")
            let right = body(key, challenge, "attestation", proof)
            func ask(_ body: String, from address: String) async throws -> Reply {
                try await gateway.send(
                    "POST", "/api/auth/attest", body, user: nil, headers: app + [("X-Forwarded-For", address)])
            }
            let wrong = body(key, challenge, "attestation", [0])
            // Some places come back meanwhile, if the machine is slow.
            var (refused, held) = (0, nil as Reply?)
            while held == nil, refused < 100 {
                let reply = try await ask(wrong, from: "2001:db8::\(refused)")
                if reply.status == 403 { refused += 1 } else { held = reply }
            }
            #expect(refused >= 10 && refused < 100 && held?.status == 429, "\(refused): \(held?.text ?? "")")
            #expect(held?.header("retry-after") != nil)
            #expect(try await ask(right, from: "192.0.2.1").status == 200)
        }
    }

    @Test func `a challenge is of this app and this time`() async throws {
        let device = try await AttestingDevice()
        let (rules, key) = (try device.rules(), try await device.key())
        try await GatewayFixture.run(configure: { $0.apps[0].attestation = rules }) { gateway in
            let fresh = try await challenge(gateway)
            let tokens = SDKTokens(
                app: GatewayApp(key: try gateway.app, secret: "", masterSecret: GatewayFixture.masterSecret))
            let others = SDKTokens(app: GatewayApp(key: try gateway.app, secret: "", masterSecret: "another-master"))
            let now = testNow
            for wrong in [
                "", "..", "x", fresh + "x", String(fresh.dropLast()), "1" + fresh,
                tokens.challenge(now: now - 300_001), tokens.challenge(now: now + 300_001), others.challenge(now: now),
            ] {
                let object = try await device.attestation(key, "\(wrong):\(channel)")
                let reply = try await ask(gateway, body(key, wrong, "attestation", object))
                #expect(reply.status == 403 && reply.text.contains("its challenge is not of this gateway"), "\(wrong)")
            }
            let ours = tokens.challenge(now: now - 299_000)
            let object = try await device.attestation(key, "\(ours):\(channel)")
            #expect(try await ask(gateway, body(key, ours, "attestation", object)).status == 200)
        }
    }

    @Test func `without App Attest, for an unknown app and beside a secret it is a 401`() async throws {
        let rules = try await AttestingDevice().rules()
        for attests in [false, true] {
            try await GatewayFixture.run(configure: { $0.apps[0].attestation = attests ? rules : nil }) { gateway in
                for method in ["GET", "POST"] {
                    func status(_ user: String?, _ headers: [(String, String)]) async throws -> Int {
                        try await gateway.send(
                            method, "/api/auth/attest", method == "GET" ? nil : "{}", user: user, headers: headers
                        ).status
                    }
                    let own = try await status(nil, app)
                    #expect(own == (attests ? method == "GET" ? 200 : 400 : 401))
                    let others = [
                        try await status(nil, [("X-UA-Appkey", "nobody")]), try await status(nil, []),
                        try await status("\(GatewayFixture.key):\(GatewayFixture.masterSecret)", app),
                    ]
                    #expect(others == [401, 401, 401])
                }
            }
        }
    }

    @Test(arguments: [
        ("{}", "channel_id"), (#"{"channel_id":"c","key_id":"AA==","challenge":"x"}"#, "key_id"),
        (#"{"channel_id":"c","key_id":"KEY","challenge":"x"}"#, "attestation"),
        (#"{"channel_id":"c","key_id":"KEY","challenge":"x","attestation":"!"}"#, "attestation"),
        (#"{"channel_id":"c","key_id":"KEY","challenge":"x","attestation":"AA==","assertion":"AA=="}"#, "assertion"),
        (#"{"channel_id":"c","key_id":"KEY","challenge":"x","assertion":"AA==","more":1}"#, "more"),
    ]) func `a body that is wrong names the member`(_ body: String, _ path: String) throws {
        let text = body.replacing("KEY", with: Base64.encode([UInt8](repeating: 1, count: 32)))
        let error = #expect(throws: JSONError.self) { _ = try AttestationBody(Array(text.utf8)) }
        #expect(error?.path == path)
    }
}
