import LiveActivity
import OpenSSL

/// Apple's App Attest: whether a request comes from a genuine copy of the app, on a device of Apple's.
///
/// The steps are from developer.apple.com/documentation/devicecheck/validating-apps-that-connect-to-your-server.
/// Apple's receipt, which measures fraud, is not used.
public struct AppAttest: Sendable, Hashable {
    public enum Environment: String, Sendable, CaseIterable {
        case production, development

        /// The `aaguid` of the authenticator data.
        fileprivate var mark: [UInt8] {
            switch self {
            case .production: Array("appattest".utf8) + [UInt8](repeating: 0, count: 7)
            case .development: Array("appattestdevelop".utf8)
            }
        }
    }

    /// The step that failed, for the log and for the developer of the app.
    struct Failure: Error, Hashable {
        var reason: String

        init(_ reason: String) { self.reason = reason }
    }

    private static let format = "apple-appattest"
    /// Apple sends two: the certificate of the key, and the certificate that signed it.
    private static let mostCertificates = 4
    private static let nonceID = "1.2.840.113635.100.8.2"
    /// SEQUENCE { [1] { OCTET STRING of 32 bytes } }
    private static let nonceHeader: [UInt8] = [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20]

    private let appHash: [UInt8]
    private let environment: Environment
    /// The root certificate in PEM.
    private let root: [UInt8]

    public init(
        teamID: String, bundleID: String, environment: Environment, root: [UInt8] = Self.appleRoot
    ) {
        appHash = Array(SHA256Digest(of: "\(teamID).\(bundleID)".utf8))
        (self.environment, self.root) = (environment, root)
    }

    /// Checks an attestation object, which vouches for a key that was made in the device. Anybody can send one, so the
    /// steps are in the order of their costs: the signatures of the chain are last.
    ///
    /// - Parameters:
    ///   - keyID: the SHA-256 of the key's point.
    ///   - clientData: the app gave Apple its SHA-256.
    ///   - seconds: since 1970. Apple's certificates live some days.
    /// - Returns: the point of the key.
    func key(
        _ keyID: [UInt8], attestedBy object: [UInt8], _ clientData: String, at seconds: Int64
    ) throws(Failure) -> [UInt8] {
        guard let attestation = try? CBORValue(object), attestation["fmt"]?.text == Self.format,
            let chain = attestation["attStmt"]?["x5c"]?.array?.compactMap(\.bytes),
            (1...Self.mostCertificates).contains(chain.count), let authData = attestation["authData"]?.bytes
        else { throw Failure("it is no attestation object of App Attest") }
        let data = try AuthenticatorData(authData, appHash)
        guard data.counter == 0 else { throw Failure("its key was used before") }
        guard data.rest.prefix(16) == environment.mark[...] else {
            throw Failure("it is not of attestation.environment \(environment)")
        }
        // Two bytes have its length.
        let credential = [0, UInt8(truncatingIfNeeded: keyID.count)] + keyID
        guard data.rest.dropFirst(16).prefix(credential.count) == credential[...] else {
            throw Failure("its credential is not the key_id")
        }
        let leaf = try Self.chained { () throws(LeafCertificate.Failure) in
            try LeafCertificate(chain[0], extensionID: Self.nonceID)
        }
        guard leaf.extensionValue == Self.nonceHeader + Self.nonce(authData, clientData) else {
            throw Failure("it is not for this challenge and channel")
        }
        guard Array(SHA256Digest(of: leaf.publicKey)) == keyID else { throw Failure("it is for another key_id") }
        try Self.chained { () throws(LeafCertificate.Failure) in
            try leaf.verify(through: Array(chain.dropFirst()), to: root, at: seconds)
        }
        return leaf.publicKey
    }

    private static func chained<Value>(
        _ step: () throws(LeafCertificate.Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(LeafCertificate.Failure) { return try step() } catch {
            throw Failure("the certificates do not lead to Apple's root: \(error)")
        }
    }

    /// Checks an assertion, which an attested key has signed.
    /// - Returns: its counter, which must be larger than the counter of every earlier assertion.
    func counter(
        of assertion: [UInt8], signedBy point: [UInt8], _ clientData: String
    ) throws(Failure) -> UInt32 {
        guard let assertion = try? CBORValue(assertion), let signature = assertion["signature"]?.bytes,
            let authData = assertion["authenticatorData"]?.bytes
        else { throw Failure("it is no assertion of App Attest") }
        let counter = try AuthenticatorData(authData, appHash).counter
        guard let key = try? P256PublicKey(point: point),
            key.isValid(der: signature, for: Self.nonce(authData, clientData))
        else { throw Failure("its signature is not of this key, challenge and channel") }
        return counter
    }

    private static func nonce(_ authData: [UInt8], _ clientData: String) -> [UInt8] {
        Array(SHA256Digest(of: authData + SHA256Digest(of: clientData.utf8)))
    }

    /// Hash of the app's id (32 bytes), flags (1), counter (4), and of an attestation more.
    private struct AuthenticatorData {
        var counter: UInt32
        var rest: ArraySlice<UInt8>

        init(_ bytes: [UInt8], _ appHash: [UInt8]) throws(Failure) {
            guard bytes.count >= 37 else { throw Failure("its authenticator data is too short") }
            guard bytes.prefix(32) == appHash[...] else {
                throw Failure("it is not of this app: see attestation.team_id and attestation.bundle_id")
            }
            counter = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
            rest = bytes[37...]
        }
    }

    /// Apple App Attestation Root CA (P-384, valid until 2045-03-15).
    public static let appleRoot = Array(
        """
        -----BEGIN CERTIFICATE-----
        MIICITCCAaegAwIBAgIQC/O+DvHN0uD7jG5yH2IXmDAKBggqhkjOPQQDAzBSMSYw
        JAYDVQQDDB1BcHBsZSBBcHAgQXR0ZXN0YXRpb24gUm9vdCBDQTETMBEGA1UECgwK
        QXBwbGUgSW5jLjETMBEGA1UECAwKQ2FsaWZvcm5pYTAeFw0yMDAzMTgxODMyNTNa
        Fw00NTAzMTUwMDAwMDBaMFIxJjAkBgNVBAMMHUFwcGxlIEFwcCBBdHRlc3RhdGlv
        biBSb290IENBMRMwEQYDVQQKDApBcHBsZSBJbmMuMRMwEQYDVQQIDApDYWxpZm9y
        bmlhMHYwEAYHKoZIzj0CAQYFK4EEACIDYgAERTHhmLW07ATaFQIEVwTtT4dyctdh
        NbJhFs/Ii2FdCgAHGbpphY3+d8qjuDngIN3WVhQUBHAoMeQ/cLiP1sOUtgjqK9au
        Yen1mMEvRq9Sk3Jm5X8U62H+xTD3FE9TgS41o0IwQDAPBgNVHRMBAf8EBTADAQH/
        MB0GA1UdDgQWBBSskRBTM72+aEH/pwyp5frq5eWKoTAOBgNVHQ8BAf8EBAMCAQYw
        CgYIKoZIzj0EAwMDaAAwZQIwQgFGnByvsiVbpTKwSga0kP0e8EeDS4+sQmTvb7vn
        53O5+FRXgeLhpJ06ysC5PrOyAjEAp5U4xDgEgllF7En3VcE3iexZZtKeYnpqtijV
        oyFraWVIyd/dganmrduC1bmTBGwD
        -----END CERTIFICATE-----
        """.utf8)
}
