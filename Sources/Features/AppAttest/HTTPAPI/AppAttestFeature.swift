import Answers
import LiveActivity
import OpenSSL

extension GatewayApp {
    /// Copies of the app that App Attest vouches for get a token. Nil: only the app's backend gives them one.
    public var attestation: AppAttest? {
        get { extras[AppAttest.self] }
        set { extras[AppAttest.self] = newValue }
    }
}

extension Endpoint {
    static let appAttest: [Endpoint] = [
        Endpoint(
            "GET", "/api/auth/attest", .unproven, nil, AttestationCalls.challenge,
            [.ok(AttestationChallengeAnswer.self)]),
        Endpoint(
            "POST", "/api/auth/attest", .unproven, nil, AttestationCalls.token, [.ok(DeviceTokenAnswer.self)]),
    ]
}

extension SDKTokens {
    /// How long a challenge can be used, milliseconds: the device asks Apple meanwhile.
    static let challengeLife: Int64 = 300_000

    /// A text that nobody can foresee, for App Attest. It is stored once it is used, so strangers cannot fill Redis.
    func challenge(now: Int64) -> String { signedChallenge("\(now).\(UUIDBytes.random())") }

    /// Whether we made the challenge for this app, at most five minutes ago.
    func isChallenge(_ text: String, now: Int64) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let made = Int64(parts[0]),
            let code = Base64.decodeURL(parts[2]), key.isValid(code, for: "challenge \(parts[0]).\(parts[1])".utf8)
        else { return false }
        return abs(now - made) <= Self.challengeLife
    }

    private func signedChallenge(_ text: String) -> String {
        "\(text).\(Base64.encodeURL(key.code(for: "challenge \(text)".utf8)))"
    }
}
