/// One request below `/console`, without its body.
public struct ConsoleRequest: Sendable {
    public var method: String
    /// Still percent-encoded.
    public var path: String
    public var query: String
    /// The header `Cookie`.
    public var cookie: String?
    /// The headers by which a browser says which page sent the request.
    public var origin: String?
    public var fetchSite: String?
    public var host: String
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
        fetchSite: String? = nil, host: String = "", address: String = "", network: String = "",
        isSecure: Bool = false, now: Int64
    ) {
        (self.method, self.path, self.query, self.cookie) = (method, path, query, cookie)
        (self.origin, self.fetchSite, self.host) = (origin, fetchSite, host)
        (self.address, self.network, self.isSecure, self.now) = (address, network, isSecure, now)
    }

    /// Whether another site's page sent the request, as far as the browser tells. A form of a stranger's page could
    /// otherwise sign the reader in as somebody else.
    var isForeign: Bool {
        if let fetchSite { return fetchSite != "same-origin" && fetchSite != "none" }
        guard let origin else { return false }
        return origin != "http://\(host)" && origin != "https://\(host)"
    }

    /// The id of the session, from the cookie.
    var session: String? { cookie(ConsoleSession.cookieName(isSecure: isSecure)) }

    /// The cookie of this name.
    func cookie(_ name: String) -> String? {
        for pair in (cookie ?? "").split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].drop(while: { $0 == " " }) == name else { continue }
            return String(parts[1])
        }
        return nil
    }
}
