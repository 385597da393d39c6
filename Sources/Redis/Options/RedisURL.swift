/// The address of Redis and the credentials for it.
///
///     redis://[user:password@]host[:port][/db]      redis://:password@host without a user name
///     unix://[user:password@]/path/to/socket[?db=N]
///     redis+sentinel://[user:password@]host[:port],host[:port]…/name[/db][?sentinel_password=…]
///     redis+cluster://[user:password@]host[:port],host[:port]…      some of the nodes, of which one must answer
///     rediss://…, rediss+sentinel://…, rediss+cluster://…           the same through TLS, to all of these servers
///
/// User, password and path may be percent-encoded. IPv6 hosts are in brackets.
///
/// For sentinels, `name` is their name of the primary (`sentinel monitor NAME …`). User and password are for Redis
/// itself, and `sentinel_password` is for the sentinels.
public struct RedisURL: Sendable, Hashable, CustomStringConvertible {
    enum Servers: Sendable, Hashable {
        case server(RedisAddress)
        case sentinels(Sentinels)
        /// Some of a cluster's nodes. They know the others.
        case cluster([RedisAddress])
    }

    var servers = Servers.server(.tcp(host: "127.0.0.1", port: 6_379))
    /// Whether every one of `servers` is reached through TLS.
    public private(set) var usesTLS = false
    /// Nil means the default user.
    var user: String?
    var password: String?
    /// The user whose rights count.
    public var userName: String { user ?? "default" }
    /// Whether the URL holds a password, for Redis or its sentinels.
    public var holdsPassword: Bool {
        if case .sentinels(let sentinels) = servers, sentinels.password != nil { return true }
        return password != nil
    }
    public internal(set) var database = 0
    /// Whether another server may become the primary without an operator.
    public var usesSentinels: Bool { if case .sentinels = servers { true } else { false } }
    public var usesCluster: Bool { if case .cluster = servers { true } else { false } }

    /// One server of the same deployment, with the same user, password and encryption.
    public func server(host: String, port: Int) -> RedisURL {
        var url = self
        url.servers = .server(.tcp(host: host, port: port))
        return url
    }

    private enum Scheme: String {
        case redis, unix
        case sentinel = "redis+sentinel"
        case cluster = "redis+cluster"
    }

    /// A Redis on this machine at its usual port.
    public init() {}

    public init(_ text: String) throws(RedisURLError) {
        if let quote = text.first, quote == "\"" || quote == "'" {
            throw RedisURLError("it begins with a quote: write the value without quotes")
        }
        guard let end = text.firstRange(of: "://") else {
            throw RedisURLError("it must begin with redis://, redis+sentinel://, redis+cluster:// or unix://")
        }
        let name = text[..<end.lowerBound].lowercased()
        // The s is like the s of https: `rediss`, `rediss+sentinel`.
        usesTLS = name == "rediss" || name.hasPrefix("rediss+")
        let scheme = try Self.scheme(usesTLS ? "redis" + name.dropFirst(6) : name)
        var rest = text[end.upperBound...]
        guard !rest.contains("#") else { throw RedisURLError("it has a # part; write a # in a password as %23") }
        let query = rest.firstIndex(of: "?").map { rest[$0...].dropFirst() }
        rest = rest.prefix { $0 != "?" }
        let authority = rest.prefix { $0 != "/" }
        let path = rest[authority.endIndex...]
        guard scheme == .unix || !path.contains("@") else {
            throw RedisURLError("there is an @ after a /: in user and password write / as %2F and @ as %40")
        }
        let host: Substring
        (user, password, host) = try Self.signIn(authority)
        switch scheme {
        case .unix:
            guard host.isEmpty, path.count > 1 else {
                throw RedisURLError("unix:// needs an absolute path: unix:///run/redis/redis.sock")
            }
            let socket = try Self.decoded(path, part: "path")
            // sockaddr_un holds 108 bytes with the final zero, and hiredis would silently cut a longer path.
            guard socket.utf8.count <= 107, !socket.utf8.contains(0) else {
                throw RedisURLError("the socket's path may have at most 107 bytes and no zero byte")
            }
            servers = .server(.unix(path: socket))
            if let query {
                guard query.hasPrefix("db=") else { throw RedisURLError("unix:// knows only ?db=N after the path") }
                database = try Self.database(query.dropFirst(3))
            }
        case .redis:
            guard query == nil else { throw RedisURLError("redis:// takes no ? part; the database is /N") }
            servers = .server(try Self.tcp(host))
            database = try Self.database(path.dropFirst())
        case .sentinel:
            let parts = path.dropFirst().split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            servers = .sentinels(try Sentinels(hosts: host, primary: parts.first ?? "", query: query))
            database = try Self.database(parts.count > 1 ? parts[1] : "")
        case .cluster:
            guard query == nil else { throw RedisURLError("redis+cluster:// takes no ? part") }
            servers = .cluster(try Self.addresses(host, port: 6_379))
            database = try Self.database(path.dropFirst())
            guard database == 0 else { throw RedisURLError("a cluster has only the database 0") }
        }
    }

    /// Splits `user:password@host`.
    private static func signIn(_ authority: Substring) throws(RedisURLError) -> (String?, String?, Substring) {
        guard let at = authority.lastIndex(of: "@") else { return (nil, nil, authority) }
        let userInfo = authority[..<at]
        guard let colon = userInfo.firstIndex(of: ":") else {
            throw RedisURLError("the part before @ has no colon: write user:password@, or :password@ without a user")
        }
        let user = try decoded(userInfo[..<colon], part: "user")
        let password = try decoded(userInfo[colon...].dropFirst(), part: "password")
        guard !password.isEmpty else { throw RedisURLError("the password is empty") }
        return (user.isEmpty ? nil : user, password, authority[at...].dropFirst())
    }

    private static func scheme(_ text: String) throws(RedisURLError) -> Scheme {
        if let scheme = Scheme(rawValue: text) { return scheme }
        throw RedisURLError(
            "its scheme is not known: use redis://, redis+sentinel://, redis+cluster://, the same with "
                + "rediss for TLS, or unix://")
    }

    /// The URL without its password.
    public var description: String {
        let signIn = password == nil ? "" : "\(user ?? ""):***@"
        let redis = usesTLS ? "rediss" : "redis"
        switch servers {
        case .server(.tcp(let host, let port)):
            return "\(redis)://\(signIn)\(RedisAddress.tcp(host: host, port: port))/\(database)"
        case .server(.unix(let path)): return "unix://\(signIn)\(path)" + (database == 0 ? "" : "?db=\(database)")
        case .sentinels(let sentinels): return "\(redis)+sentinel://\(signIn)\(sentinels)/\(database)"
        case .cluster(let seeds):
            return "\(redis)+cluster://\(signIn)" + seeds.map(\.description).joined(separator: ",")
        }
    }

    /// The limit is only for the number that is sent. Redis refuses one beyond its own `databases` setting.
    private static func database(_ text: Substring) throws(RedisURLError) -> Int {
        text.isEmpty ? 0 : try number(text, in: 0...65_535, part: "database")
    }
}

/// The problem of a Redis URL. It never quotes the URL, because a typing error can put a password anywhere.
public struct RedisURLError: Error, Hashable, CustomStringConvertible {
    public let description: String
    init(_ description: String) { self.description = description }
}
