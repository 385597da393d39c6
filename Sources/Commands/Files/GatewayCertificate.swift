import OpenSSL
import Settings

/// The gateway's certificate and key, read from their files.
enum GatewayCertificate {
    /// Reads the gateway's certificate and key. Nil if the settings name none: the gateway then speaks plain HTTP.
    static func read(_ files: Settings.GatewayTLSFiles) throws(SettingsError) -> TLSIdentity? {
        guard let certificate = files.certificate, let key = files.key else { return nil }
        let (certificateFile, keyFile) = (
            NamedFile(setting: "gateway.cert_file", path: certificate),
            NamedFile(setting: "gateway.key_file", path: key)
        )
        let pem = CertificateAuthority.Identity(
            certificate: try certificateFile.pem(.certificate), key: try keyFile.pem(.privateKey))
        guard let left = TLSIdentity.secondsLeft(pem.certificate) else {
            throw certificateFile.failure("holds no certificate that can be read", "give the file as it was issued")
        }
        guard left > 0 else { throw certificateFile.failure("holds a certificate that has expired", "renew it") }
        do {
            // Hummingbird's HTTP/2 needs a TLS library of its own, so HTTP/1.1 is what there is (ADR 28).
            return try TLSIdentity(pem, applicationProtocol: "http/1.1")
        } catch {
            let words = "is not the key of \(certificate): \(error)"
            throw keyFile.failure(words, "give its private key, without a passphrase")
        }
    }
}
