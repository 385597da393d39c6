import LiveActivity

/// One request below `/console`, without its body.
public struct ConsoleRequest: Sendable {
    public var method: String
    /// Still percent-encoded, and without the app that it may name.
    public var path: String
    /// The app that the path names: `/console/@shop/pushes`. Nil: the app of the browser's first session.
    let app: String?
    public var query: String
    /// The header `Cookie`.
    public var cookie: String?
    /// The headers by which a browser says which page sent the request.
    public var origin: String?
    public var fetchSite: String?
    public var host: String
    /// The header `Referer`: the page whose form or link it was.
    public var referer: String?
    /// The client's, as far as it is known.
    public var address: String
    /// The network of that address, by which sign-ins are counted.
    public var network: String
    /// The browser reached the gateway, or the proxy before it, over TLS.
    public var isSecure: Bool
    /// Epoch milliseconds.
    public var now: Int64

    public init(
        method: String, path: String, query: String = "", cookie: String? = nil, origin: String? = nil,
        fetchSite: String? = nil, host: String = "",
        referer: String? = nil, address: String = "", network: String = "",
        isSecure: Bool = false, now: Int64
    ) {
        (app, self.path) = Self.parts(of: path)
        (self.method, self.query, self.cookie) = (method, query, cookie)
        (self.origin, self.fetchSite, self.host) = (origin, fetchSite, host)
        self.referer = referer
        (self.address, self.network, self.isSecure, self.now) = (address, network, isSecure, now)
    }

    /// Whether another site's page sent the request, as far as the browser tells. A form of a stranger's page could
    /// otherwise sign the reader in as somebody else.
    var isForeign: Bool {
        if let fetchSite { return fetchSite != "same-origin" && fetchSite != "none" }
        guard let origin else { return false }
        return origin != "http://\(host)" && origin != "https://\(host)"
    }

    /// The page of the console, with its query, from which it came. Nil: none, or the browser does not say.
    var from: String? {
        let rest = ["http", "https"].lazy.compactMap { referer?.rest(behind: "\($0)://\(host)") }.first
        guard let rest, !host.isEmpty else { return nil }
        let path = Self.parts(of: String(rest.prefix { $0 != "#" })).path
        return Console.serves(path.prefix { $0 != "?" }) && !path.hasPrefix("/console/sign-in") ? path : nil
    }

    /// The most apps that one browser is signed in to.
    static let mostSessions = 8

    /// The ids of the browser's sessions, from the cookie, the first one's first. Each is of another app.
    var sessions: [String] {
        let ids = cookie(ConsoleSession.cookieName(isSecure: isSecure)) ?? ""
        return ids.split(separator: ".").prefix(Self.mostSessions).map(String.init)
    }

    /// The names of the browser's cookies, in the order of the header.
    var cookieNames: [String] {
        (cookie ?? "").split(separator: ";").map { String($0.drop { $0 == " " }.prefix { $0 != "=" }) }
    }

    /// The cookie of this name.
    func cookie(_ name: String) -> String? {
        for pair in (cookie ?? "").split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].drop(while: { $0 == " " }) == name else { continue }
            return String(parts[1])
        }
        return nil
    }

    /// The beginning of the addresses of an app's pages, if the app is not the first session's.
    static func base(_ app: String) -> String { "/console/@\(app)" }

    /// The beginning of this request's address.
    var base: String { app.map(Self.base) ?? "/console" }

    /// The same page under another beginning of its address.
    static func address(_ path: String, under base: String) -> String { base + path.dropFirst("/console".count) }

    /// The app and the page of an address.
    static func parts(of path: String) -> (app: String?, path: String) {
        guard let rest = path.rest(behind: "/console/@") else { return (nil, path) }
        let app = rest.prefix { $0 != "/" }
        return AppKey.isKey(String(app)) ? (String(app), "/console" + rest.dropFirst(app.count)) : (nil, path)
    }
}
