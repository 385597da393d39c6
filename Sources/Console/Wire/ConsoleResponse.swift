import LiveActivity
import OpenSSL

/// The answer to a request below `/console`.
public struct ConsoleResponse: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        /// A file that is made while it is read. Each call gives the next bytes, which may be none; nil is the end.
        case pieces(@Sendable () async -> [UInt8]?)
        /// Server-sent events. The last two are kept for a reader that is slow, because each tells everything.
        case events(AsyncStream<[UInt8]>, end: @Sendable () -> Void)
    }

    public var status: Int
    public var fields: [(String, String)]
    public var body: Body
    /// The pattern of the path for logs and metrics, without names in it.
    public var route = "/console"
    /// For the log: the person who signed in, or the reason why the person could not. Without secrets.
    public private(set) var who: String?
    public private(set) var reason: String?

    /// Scripts and styles come from the gateway alone, nothing is inline, and no other page may frame a page.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    static let guards: [(String, String)] = [
        ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    private init(_ status: Int, _ fields: [(String, String)], _ body: Body) {
        (self.status, self.fields, self.body) = (status, Self.guards + fields, body)
    }

    static func page(_ text: String, status: Int = 200) -> ConsoleResponse {
        ConsoleResponse(
            status, [("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store")],
            .bytes(Array(text.utf8)))
    }

    /// After a POST, so that a reload repeats nothing.
    static func redirect(_ path: String) -> ConsoleResponse {
        ConsoleResponse(303, [("Location", path), ("Cache-Control", "no-store")], .bytes([]))
    }

    static func events(_ events: LiveFeed.Events) -> ConsoleResponse {
        ConsoleResponse(
            200,
            [
                ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"),
                // nginx would otherwise hold events back until a buffer is full.
                ("X-Accel-Buffering", "no"),
            ], .events(events.stream, end: events.end))
    }

    /// A file that the browser saves.
    static func file(
        _ type: String, _ name: String, _ piece: @escaping @Sendable () async -> [UInt8]?
    ) -> ConsoleResponse {
        ConsoleResponse(
            200,
            [
                ("Content-Type", type), ("Cache-Control", "no-store"),
                ("Content-Disposition", "attachment; filename=\"\(name)\""),
            ], .pieces(piece))
    }

    static func asset(_ asset: Asset) -> ConsoleResponse {
        ConsoleResponse(
            200,
            [
                ("Content-Type", asset.type), ("ETag", asset.tag),
                ("Cache-Control", "public, max-age=31536000, immutable"),
            ], .bytes(asset.bytes))
    }

    public func with(_ name: String, _ value: String) -> ConsoleResponse {
        var copy = self
        copy.fields.append((name, value))
        return copy
    }

    func with(status: Int) -> ConsoleResponse {
        var copy = self
        copy.status = status
        return copy
    }

    /// The same response for a session whose addresses begin otherwise.
    func under(_ base: String?) -> ConsoleResponse {
        guard let base, base != "/console" else { return self }
        var copy = self
        copy.fields = fields.map { name, value in
            guard name == "Location", let rest = value.rest(behind: "/console"), Self.isMoved(rest.utf8) else {
                return (name, value)
            }
            return (name, base + rest)
        }
        let isPage = fields.contains { $0.0 == "Content-Type" && $0.1.hasPrefix("text/html") }
        if isPage, case .bytes(let bytes) = body { copy.body = .bytes(Self.moved(bytes, to: base)) }
        return copy
    }

    /// Addresses of pages, as templates have them, under another beginning. Text of others holds no quotation mark.
    static func moved(_ bytes: [UInt8], to base: String) -> [UInt8] {
        let start = Array("=\"/console".utf8)
        var moved: [UInt8] = []
        var rest = bytes[...]
        while let found = rest.firstRange(of: start) {
            moved += rest[..<found.lowerBound]
            rest = rest[found.upperBound...]
            moved += Self.isMoved(rest) ? Array("=\"\(base)".utf8) : start
        }
        return moved + rest
    }

    /// Whether what follows `/console` in an address is of one app. Files and the sign-in are of none.
    private static func isMoved(_ rest: some Collection<UInt8>) -> Bool {
        (rest.first.map { "\"/?#".utf8.contains($0) } ?? true)
            && !["/assets/", "/sign-in", "/@"].contains { rest.starts(with: $0.utf8) }
    }

    func about(who: String? = nil, reason: String? = nil) -> ConsoleResponse {
        var copy = self
        (copy.who, copy.reason) = (who, reason)
        return copy
    }

    func on(_ route: String) -> ConsoleResponse {
        var copy = self
        copy.route = route
        return copy
    }
}

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

    /// Features have styles of their own, after the styles that all pages share.
    static let style = Asset(
        "console.css", "text/css; charset=utf-8",
        PackageResources.files.filter { $0.name.hasSuffix(".css") }.flatMap(\.bytes))
    static let script = Asset("console.js", "text/javascript; charset=utf-8", PackageResources.console_js)
    static let icon = Asset("icon.svg", "image/svg+xml", PackageResources.icon_svg)
    static let all = [style, script, icon]
}
