public import Redis

/// A redis-server with a TLS port beside its unix socket.
public struct EncryptedRedis: Sendable {
    public let authority: TestAuthority
    public let server: RedisServer
    /// The TLS port on 127.0.0.1.
    public let port: Int

    /// - Parameters:
    ///   - identity: made by `authority`. Nil means one that is valid for localhost and 127.0.0.1.
    ///   - asksForCertificate: clients need a certificate that `authority` has signed.
    public static func start(
        _ authority: TestAuthority? = nil, identity: TestAuthority.Identity? = nil, asksForCertificate: Bool = false,
        append: Bool = false, extra: [String] = []
    ) async throws -> EncryptedRedis {
        let authority = try authority ?? TestAuthority()
        let port = try freePort()
        let files = arguments(
            authority, try identity ?? authority.issue("server"), asksForCertificate: asksForCertificate)
        let server = try await RedisServer.start(append: append, extra: ["--tls-port", "\(port)"] + files + extra)
        return EncryptedRedis(authority: authority, server: server, port: port)
    }

    /// Lines of redis.conf, for servers and sentinels.
    public static func options(
        _ authority: TestAuthority, _ identity: TestAuthority.Identity, asksForCertificate: Bool = false
    ) -> [String] {
        [
            "tls-cert-file \(identity.certificateFile)", "tls-key-file \(identity.keyFile)",
            "tls-ca-cert-file \(authority.caFile)", "tls-auth-clients \(asksForCertificate ? "yes" : "no")",
            "tls-replication yes",
        ]
    }

    /// The same as arguments of a command line.
    public static func arguments(
        _ authority: TestAuthority, _ identity: TestAuthority.Identity, asksForCertificate: Bool = false
    ) -> [String] {
        options(authority, identity, asksForCertificate: asksForCertificate).flatMap { line in
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            return ["--" + parts[0], parts[1]]
        }
    }

    public func url(_ host: String = "127.0.0.1", scheme: String = "rediss", more: String = "") throws -> RedisURL {
        try RedisURL("\(scheme)://\(host):\(port)\(more)")
    }

    /// Client options that trust the authority, or another file of roots.
    public func options(
        roots: String? = nil, identity: TestAuthority.Identity? = nil, _ options: RedisOptions = RedisOptions()
    ) -> RedisOptions {
        var options = options
        options.tls = RedisTLSFiles(
            roots: roots ?? authority.caFile, certificate: identity?.certificateFile, key: identity?.keyFile)
        return options
    }
}
