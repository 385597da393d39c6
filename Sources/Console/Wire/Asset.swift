import LiveActivity
import OpenSSL

/// A file that pages load. Its address holds its digest, so a browser keeps it for ever and never an old one.
struct Asset: Sendable {
    let name: String
    let type: String
    let bytes: [UInt8]
    let digest: String

    init(_ name: String, _ type: String, _ bytes: [UInt8]) {
        (self.name, self.type, self.bytes) = (name, type, bytes)
        digest = String(Hex.encode(SHA256Digest(of: bytes)).prefix(16))
    }

    var tag: String { "\"\(digest)\"" }
    var path: String { "/console/assets/\(name)?\(digest)" }

    static let style = Asset("console.css", "text/css; charset=utf-8", PackageResources.console_css)
    static let script = Asset("console.js", "text/javascript; charset=utf-8", PackageResources.console_js)
    static let icon = Asset("icon.svg", "image/svg+xml", PackageResources.icon_svg)
    static let all = [style, script, icon]
}
