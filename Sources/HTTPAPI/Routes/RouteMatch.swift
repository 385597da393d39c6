import LiveActivity

/// The route of a request: a pure function of method and path.
enum RouteMatch: Sendable {
    case found(Endpoint, parameters: [String: String])
    case methodNotAllowed([String])
    /// A call of Airship's API that Lamplighter does not serve.
    case unserved(UnservedPath)
    /// `isName`: it looks like a name with a slash that was decoded on its way.
    case notFound(isName: Bool)
    /// A path component is not percent-encoded UTF-8.
    case malformed

    /// The path is still percent-encoded, so that a name may hold `%2F`. It may end in a slash if it needs a secret.
    init(method: String, path: Substring) { self = Self.find(method, path) }

    private static func find(_ method: String, _ path: Substring) -> RouteMatch {
        // Split by bytes, because a path may hold UTF-8 that is not percent-encoded.
        var parts = path.parts(between: UInt8(ascii: "/"))
        guard parts.first?.isEmpty == true else { return .notFound(isName: false) }
        parts.removeFirst()
        if parts.last?.isEmpty == true { parts.removeLast() }
        guard !parts.isEmpty, !parts.contains(where: \.isEmpty) else { return .notFound(isName: isNamed(parts)) }
        let components = parts.compactMap { PercentEncoding.decode($0) }
        guard components.count == parts.count else { return .malformed }
        let unserved = UnservedPath.row(method: method, components: components)
        guard let candidates = Endpoint.byLength[components.count]?.first(where: { $0[0].matches(components) }) else {
            return unserved.map(Self.unserved) ?? .notFound(isName: isNamed(parts))
        }
        let first = candidates[0]
        // Accept one spelling only for paths that need no secret, because proxies block these by their path.
        guard first.access != .anyone || path == first.pattern[...] else { return .notFound(isName: false) }
        // HEAD is GET without the body of the response.
        let wanted = method == "HEAD" ? "GET" : method
        guard let endpoint = candidates.first(where: { $0.method == wanted }) else {
            if let unserved, !unserved.isWider(than: first) { return .unserved(unserved) }
            let methods = candidates.map(\.method)
            return .methodNotAllowed(methods.contains("GET") ? methods + ["HEAD"] : methods)
        }
        if let unserved, unserved.isMoreExact(than: endpoint) { return .unserved(unserved) }
        return .found(endpoint, parameters: endpoint.parameters(of: components))
    }

    /// Whether the path begins like a path whose third part is a name: of an activity, a type, a channel, a user or a
    /// contact.
    private static func isNamed(_ parts: [String]) -> Bool {
        let families: Set = ["activities", "start-tokens", "channels", "contacts", "named_users", "schemas"]
        return parts.count > 3 && parts[0] == "api" && families.contains(parts[1])
    }

    var endpoint: Endpoint? { if case .found(let endpoint, _) = self { endpoint } else { nil } }

    func get() throws(APIError) -> (Endpoint, parameters: [String: String]) {
        switch self {
        case .found(let endpoint, let parameters): return (endpoint, parameters)
        case .methodNotAllowed(let methods): throw .methodNotAllowed(methods)
        case .unserved(let row): throw .unserved(row)
        case .notFound(let isName): throw isName ? .slashInName : .notFound
        case .malformed: throw .parameter("path", "must be percent-encoded UTF-8")
        }
    }
}
