import FoundationEssentials
import OpenSSL
import Settings

/// The gateway's certificate and key, read from their files.
enum GatewayCertificate {
    /// Nil if the settings name none: the gateway then speaks plain HTTP.
    static func read(_ files: Settings.GatewayTLSFiles) throws(SettingsError) -> TLSIdentity? {
        guard let certificate = files.certificate, let key = files.key else { return nil }
        let pem = CertificateAuthority.Identity(
            certificate: try contents(certificate, "gateway.cert_file"), key: try contents(key, "gateway.key_file"))
        guard let left = TLSIdentity.secondsLeft(pem.certificate) else {
            throw .missing(key: "gateway.cert_file", remedy: "\(certificate) holds no certificate in PEM")
        }
        guard left > 0 else {
            throw .missing(key: "gateway.cert_file", remedy: "the certificate in \(certificate) has expired; renew it")
        }
        do {
            // Hummingbird's HTTP/2 needs a TLS library of its own, so HTTP/1.1 is what there is (ADR 28).
            return try TLSIdentity(pem, applicationProtocol: "http/1.1")
        } catch {
            let remedy = "\(key) must hold the private key of \(certificate), without a passphrase: \(error)"
            throw .missing(key: "gateway.key_file", remedy: remedy)
        }
    }

    private static func contents(_ path: String, _ setting: String) throws(SettingsError) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw .missing(key: setting, remedy: "\(path) does not exist or cannot be read by this user")
        }
        guard data.count <= 1 << 20 else { throw .missing(key: setting, remedy: "\(path) is too large for PEM") }
        return [UInt8](data)
    }
}
