import Foundation
import TestSupport

/// The Redis servers of a run. Each writes an append-only file to disk before it replies.
struct RedisServers: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// One server on a unix socket.
        case plain
        /// One server on a port with TLS.
        case tls
        /// Three primaries without replicas, so the data of a node returns only with that node.
        case cluster
        case tlsCluster = "tls-cluster"

        var isCluster: Bool { self == .cluster || self == .tlsCluster }
        var hasTLS: Bool { self == .tls || self == .tlsCluster }
        var roles: [Role] { isCluster ? (1...Plan.nodes).map { .node($0) } : [.redis] }
    }

    private struct Server {
        var role: Role
        var directory: String
        /// 0 for a server that is reached only by its socket.
        var port: Int
        var arguments: [String]

        var socket: String { directory + "/redis.sock" }
    }

    private let kind: Kind
    private let servers: [Server]
    /// Keeps its certificate files as long as it exists.
    private let authority: TestAuthority?

    init(_ plan: Plan, directory: String) throws {
        kind = plan.redis
        authority = kind.hasTLS ? try TestAuthority() : nil
        let files = try authority.map { EncryptedRedis.arguments($0, try $0.issue("redis")) } ?? []
        servers = try kind.roles.map { [kind] role in
            let port = kind == .plain ? 0 : try freePort()
            var arguments = kind.hasTLS ? ["--tls-port", "\(port)", "--port", "0"] + files : ["--port", "\(port)"]
            if kind.isCluster {
                arguments += try ClusterServers.arguments()
                arguments += ["--cluster-node-timeout", "\(Plan.nodeTimeout)"]
                arguments += ["--cluster-require-full-coverage", plan.needsEveryNode ? "yes" : "no"]
                arguments += ["--tls-cluster", kind.hasTLS ? "yes" : "no"]
            }
            let home = directory + "/redis" + (kind.isCluster ? "/\(role)" : "")
            try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
            return Server(role: role, directory: home, port: port, arguments: arguments)
        }
    }

    var roles: [Role] { servers.map(\.role) }

    /// The environment that gateways and workers need to reach Redis.
    var environment: [String: String] {
        let hosts = servers.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        let url =
            switch kind {
            case .plain: "unix://" + servers[0].socket
            case .tls: "rediss://" + hosts
            case .cluster: "redis+cluster://" + hosts
            case .tlsCluster: "rediss+cluster://" + hosts
            }
        return ["LAMPLIGHTER_REDIS_URL": url].merging(authority.map { ["LAMPLIGHTER_REDIS_CA_FILE": $0.caFile] } ?? [:])
        {
            own, _ in own
        }
    }

    func socket(_ role: Role) -> String? { servers.first { $0.role == role }?.socket }

    /// The command line of a server. It never changes, so a killed server finds its file, and a node finds its cluster.
    func command(_ role: Role) -> [String] {
        guard let server = servers.first(where: { $0.role == role }) else { return [] }
        return [
            "/usr/bin/env", "redis-server", "--bind", "127.0.0.1", "--unixsocket", server.socket, "--dir",
            server.directory, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
            "--hash-max-ziplist-value", "128", "--hash-max-ziplist-entries", "512",
            "--auto-aof-rewrite-percentage", "0",
        ] + server.arguments
    }

    /// Gives the slots to nodes that were started for the first time.
    func form() async throws {
        if kind.isCluster { try await ClusterServers.form(servers.map { (socket: $0.socket, port: $0.port) }) }
    }
}
