internal import Glibc
internal import OpenSSL

/// A PEM file of root certificates, checked at start, so that a wrong file is a configuration error.
public enum AuthorityFile {
    /// Why the file cannot be used; nil: it holds certificates.
    public static func problem(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return "cannot be read: \(String(cString: strerror(errno)))" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count <= 16 << 20 {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return TrustAnchors.count(pem: bytes) > 0
            ? nil : "holds no certificate; expected PEM (-----BEGIN CERTIFICATE-----)"
    }
}
