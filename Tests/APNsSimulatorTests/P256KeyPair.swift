import OpenSSL

@testable import APNsSimulator

/// A provider key with one token of a fixed time, for tests without a clock.
struct P256KeyPair {
    static let issuedAt = 1_763_700_000

    let provider: ProviderTokenCheck.Key
    let token: String

    init() throws {
        let pem = try P256SigningKey.generatePEM()
        let key = try P256SigningKey(pem: pem)
        provider = ProviderTokenCheck.Key(
            keyID: SimulatorFixture.keyID, teamID: SimulatorFixture.teamID, publicKey: try P256PublicKey(pem: pem),
            bundleIDs: [])
        let signed =
            SimulatorFixture.base64URL(Array(#"{"alg":"ES256","kid":"\#(SimulatorFixture.keyID)"}"#.utf8)) + "."
            + SimulatorFixture.base64URL(Array(#"{"iss":"\#(SimulatorFixture.teamID)","iat":\#(Self.issuedAt)}"#.utf8))
        token = signed + "." + SimulatorFixture.base64URL(try key.es256(Array(signed.utf8)))
    }
}
