import LiveActivity
import StrictJSON

/// The body of `POST /api/auth/attest`: what App Attest says of the install of a channel.
struct AttestationBody {
    enum Proof: Hashable {
        case attestation([UInt8])
        case assertion([UInt8])
    }

    let channel: ChannelID
    /// The SHA-256 of the key's point.
    let keyID: [UInt8]
    let challenge: String
    let proof: Proof

    init(_ bytes: [UInt8]) throws(JSONError) {
        let known = ["channel_id", "key_id", "challenge", "attestation", "assertion"]
        let body = try JSONDocument(bytes).root.object(known: known)
        channel = try body.required("channel_id").channelID()
        let id = try body.required("key_id")
        keyID = try Self.bytes(id)
        guard keyID.count == 32 else { throw id.error("must be 32 bytes in base64, as generateKey gives it") }
        challenge = try body.required("challenge").string()
        switch (body["attestation"], body["assertion"]) {
        case (let value?, nil): proof = .attestation(try Self.bytes(value))
        case (nil, let value?): proof = .assertion(try Self.bytes(value))
        case (nil, nil): throw body.missing("attestation", "is required for a new key; later an assertion is")
        case (_?, let value?): throw value.error("must not stand beside an attestation")
        }
    }

    /// The app gives Apple the SHA-256 of this text, so that the proof is good for this channel alone.
    var clientData: String { "\(challenge):\(channel)" }

    private static func bytes(_ value: JSONValue) throws(JSONError) -> [UInt8] {
        guard let bytes = Base64.decode(try value.string()) else { throw value.error("must be base64") }
        return bytes
    }
}
