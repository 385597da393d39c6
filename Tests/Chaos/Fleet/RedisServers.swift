import Foundation
import TestSupport

/// The Redis servers of a run. Each writes an append-only file to disk before it replies. A primary with a replica
/// takes writes only while the replica has them, as the documents ask for.
struct RedisServers: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// One server on a unix socket.
        case plain
        /// One server on a port with TLS.
        case tls
        /// Three primaries without replicas, so the data of a node returns only with that node.
        case cluster
        case tlsCluster = "tls-cluster"
        /// A primary and a replica, and three sentinels that watch them.
        case sentinel

        var isCluster: Bool { self == .cluster || self == .tlsCluster }
        var hasTLS: Bool { self == .tls || self == .tlsCluster }
        /// The servers that hold data.
        var dataRoles: [Role] {
            switch self {
            case .plain, .tls: [.redis]
            case .cluster, .tlsCluster: (1...Plan.nodes).map { .node($0) }
            case .sentinel: [.server(1), .server(2)]
            }
        }
        var roles: [Role] { dataRoles + (self == .sentinel ? (1...3).map { .sentinel($0) } : []) }
    }

    private struct Server {
        var role: Role
        var directory: String
        /// 0 for a server that is reached only by its socket.
        var port: Int
        var arguments: [String]

        var socket: String { directory + "/redis.sock" }
        var file: String { directory + "/redis.conf" }
    }

    /// The sentinels' name of the primary.
    private static let primary = "lamp"

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
            let home = directory + "/redis" + (kind.dataRoles.count > 1 ? "/\(role)" : "")
            try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
            return Server(role: role, directory: home, port: port, arguments: arguments)
        }
        if kind == .sentinel { try writeFiles() }
    }

    /// The files of servers and sentinels, which sentinels rewrite. So a server that is started again has its last
    /// role.
    private func writeFiles() throws {
        let first = servers[0].port
        for server in servers {
            let lines: [String]
            switch server.role {
            case .sentinel:
                lines = [
                    "port \(server.port)", "bind 127.0.0.1", "dir \(server.directory)",
                    "sentinel monitor \(Self.primary) 127.0.0.1 \(first) 2",
                    "sentinel down-after-milliseconds \(Self.primary) \(Plan.downAfter)",
                    "sentinel failover-timeout \(Self.primary) \(2 * Plan.downAfter)",
                ]
            default:
                lines =
                    Self.settings(server).map { "\($0) \($1.isEmpty ? "\"\"" : $1)" }
                    + ["port \(server.port)", "min-replicas-to-write 1", "repl-diskless-sync-delay 0"]
                    + (server.port == first ? [] : ["replicaof 127.0.0.1 \(first)"])
            }
            try (lines.joined(separator: "\n") + "\n").write(
                toFile: server.file, atomically: false, encoding: .utf8)
        }
    }

    var roles: [Role] { servers.map(\.role) }
    var dataRoles: [Role] { kind.dataRoles }

    /// The environment that gateways and workers need to reach Redis.
    var environment: [String: String] {
        let hosts = (kind == .sentinel ? sentinels : servers).map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        let url =
            switch kind {
            case .plain: "unix://" + servers[0].socket
            case .tls: "rediss://" + hosts
            case .cluster: "redis+cluster://" + hosts
            case .tlsCluster: "rediss+cluster://" + hosts
            case .sentinel: "redis+sentinel://\(hosts)/\(Self.primary)"
            }
        var environment = ["LAMPLIGHTER_REDIS_URL": url]
        if let authority { environment["LAMPLIGHTER_REDIS_CA_FILE"] = authority.caFile }
        if kind == .sentinel { environment["LAMPLIGHTER_REDIS_WAIT_REPLICAS"] = "1" }
        return environment
    }

    private var sentinels: [Server] { servers.filter { !kind.dataRoles.contains($0.role) } }

    /// The socket of a server that holds data.
    func socket(_ role: Role) -> String? {
        kind.dataRoles.contains(role) ? servers.first { $0.role == role }?.socket : nil
    }

    /// Asks the sentinels to make the replica the primary.
    /// - Returns: false if none of them can now
    func failOver() async -> Bool { await askSentinels("FAILOVER") { $0.hasPrefix("OK") } != nil }

    /// The port of the primary, as a sentinel knows it. Nil: none answers
    func primaryPort() async -> String? {
        await askSentinels("GET-MASTER-ADDR-BY-NAME") { $0.contains { !$0.isNewline } }?.split(separator: "\n").last
            .map(String.init)
    }

    /// The first answer about the primary that is wanted.
    private func askSentinels(_ question: String, isWanted: (String) -> Bool) async -> String? {
        for sentinel in sentinels {
            let answer = try? await ChildProcess.run(
                ["redis-cli", "-p", "\(sentinel.port)", "SENTINEL", question, Self.primary])
            if let answer, isWanted(answer.out) { return answer.out }
        }
        return nil
    }

    /// Waits until another server is the primary.
    /// - Returns: false if none is after the limit
    func isReplaced(_ port: String?, within limit: Duration) async -> Bool {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end {
            if let now = await primaryPort(), now != port { return true }
            try? await Task.sleep(for: .milliseconds(200))
        }
        return false
    }

    /// The command line of a server. It never changes, so a killed server finds its file, and a node finds its cluster.
    func command(_ role: Role) -> [String] {
        guard let server = servers.first(where: { $0.role == role }) else { return [] }
        if kind == .sentinel {
            let isSentinel = !kind.dataRoles.contains(role)
            return ["/usr/bin/env", "redis-server", server.file] + (isSentinel ? ["--sentinel"] : [])
        }
        return ["/usr/bin/env", "redis-server"] + Self.settings(server).flatMap { ["--" + $0, $1] } + server.arguments
    }

    private static func settings(_ server: Server) -> [(name: String, value: String)] {
        [
            ("bind", "127.0.0.1"), ("unixsocket", server.socket), ("dir", server.directory), ("save", ""),
            ("appendonly", "yes"), ("appendfsync", "always"), ("hash-max-ziplist-value", "1024"),
            ("hash-max-ziplist-entries", "512"), ("auto-aof-rewrite-percentage", "0"),
        ]
    }

    /// Gives the slots to nodes that were started for the first time.
    func form() async throws {
        if kind.isCluster { try await ClusterServers.form(servers.map { (socket: $0.socket, port: $0.port) }) }
    }
}
