import LiveActivity

/// The route of a request: a pure function of method and path.
enum RouteMatch: Sendable {
    case found(Endpoint, parameters: [String: String])
    case methodNotAllowed([String])
    /// A call of another service's API that Lamplighter does not serve, with the text that says so.
    case unserved(String)
    /// `isName`: it looks like a name with a slash that was decoded on its way.
    case notFound(isName: Bool)
    /// A path component is not percent-encoded UTF-8.
    case malformed

    /// The path is still percent-encoded, so that a name may hold `%2F`. It may end in a slash if it needs a secret.
    init(method: String, path: Substring, foreign: [ForeignAPI] = ForeignAPI.ofFeatures) {
        self = Self.find(method, path, foreign)
    }

    private static func find(_ method: String, _ path: Substring, _ foreign: [ForeignAPI]) -> RouteMatch {
        // HEAD is GET without the body of the response.
        let wanted = method == "HEAD" ? "GET" : method
        // The usual call has a path without parameters, which no other service's API describes better.
        if let endpoint = Endpoint.byPath[String(path)]?.first(where: { $0.method == wanted }) {
            return .found(endpoint, parameters: [:])
        }
        // Split by bytes, because a path may hold UTF-8 that is not percent-encoded.
        var parts = path.parts(between: UInt8(ascii: "/"))
        guard parts.first?.isEmpty == true else { return .notFound(isName: false) }
        parts.removeFirst()
        if parts.last?.isEmpty == true { parts.removeLast() }
        guard !parts.isEmpty, !parts.contains(where: \.isEmpty) else { return .notFound(isName: isNamed(parts)) }
        let components = parts.compactMap { PercentEncoding.decode($0) }
        guard components.count == parts.count else { return .malformed }
        func unserved(_ near: Endpoint? = nil) -> RouteMatch? {
            let near = near.map { (method: $0.method, pattern: $0.pattern) }
            return foreign.lazy.compactMap { $0.refusal(method, components, near) }.first.map(Self.unserved)
        }
        guard let candidates = Endpoint.byLength[components.count]?.first(where: { $0[0].matches(components) }) else {
            return unserved() ?? .notFound(isName: isNamed(parts))
        }
        let first = candidates[0]
        // Accept one spelling only for paths that need no secret, because proxies block these by their path.
        guard first.access != .anyone || path == first.pattern[...] else { return .notFound(isName: false) }
        guard let endpoint = candidates.first(where: { $0.method == wanted }) else {
            if let unserved = unserved(first) { return unserved }
            let methods = candidates.map(\.method)
            return .methodNotAllowed(methods.contains("GET") ? methods + ["HEAD"] : methods)
        }
        return unserved(endpoint) ?? .found(endpoint, parameters: endpoint.parameters(of: components))
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
        case .unserved(let text): throw APIError(404, text)
        case .notFound(let isName): throw isName ? .slashInName : .notFound
        case .malformed: throw .parameter("path", "must be percent-encoded UTF-8")
        }
    }
}
