import LiveActivity
import Testing

@testable import HTTPAPI
@testable import Store

extension GatewayFixture {
    /// It makes the keys of `POST /api/auth/attest`.
    static let attestingDevice = Task { try await AttestingDevice() }

    static let attestation: @Sendable () async throws -> SetUp = {
        let rules = try await attestingDevice.value.rules()
        return { $0.apps[0].attestation = rules }
    }
}

extension ChangingCall {
    static let attestations: [ChangingCall] = [
        // A challenge is good for one call. The key is kept before that.
        ChangingCall("POST /api/auth/attest", repeated: [403]) { fixture, number in
            let headers = [("X-UA-Appkey", GatewayFixture.key)]
            let reply = try await fixture.gateway.send("GET", "/api/auth/attest", user: nil, headers: headers)
            let (challenge, device) = (try reply.string("challenge"), try await GatewayFixture.attestingDevice.value)
            let (key, channel) = (try await device.key(), try ChannelID("c-\(number)"))
            let proof = Base64.encode(try await device.attestation(key, "\(challenge):\(channel)"))
            let id = Base64.encode(key.id)
            let body =
                #"{"channel_id":"\#(channel)","key_id":"\#(id)","challenge":"\#(challenge)","attestation":"\#(proof)"}"#
            return PreparedCall(path: "/api/auth/attest", body: body, headers: headers, user: nil) {
                (try await fixture.store.attestedKeys.point(fixture.app, key.id, of: channel) != nil).part
            }
        }
    ]
}
