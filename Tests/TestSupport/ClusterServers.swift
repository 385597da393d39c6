import Foundation
public import Redis

/// A Redis Cluster for one test: servers on free ports of 127.0.0.1, with the slots divided evenly into ranges.
public final class ClusterServers: Sendable {
    public let primaries: [RedisServer]
    /// One replica for each primary in the same order, or none.
    public let replicas: [RedisServer]
    private let clients: [RedisClient]
    /// Each node's port for TLS, which clients and the nodes among themselves use. Nil without TLS.
    private let tlsPorts: [Int]?

    /// Starts three primaries that clients reach through TLS.
    public static func start(_ authority: TestAuthority) async throws -> ClusterServers {
        var servers: [RedisServer] = []
        var ports: [Int] = []
        let files = EncryptedRedis.arguments(authority, try authority.issue("node"))
        for _ in 0..<3 {
            ports.append(try freePort())
            let extra = ["--tls-port", "\(ports[ports.count - 1])", "--tls-cluster", "yes"] + files
            servers.append(try await node(extra: extra))
        }
        let cluster = ClusterServers(servers, primaries: servers.count, tlsPorts: ports)
        try await cluster.form()
        return cluster
    }

    /// Starts a cluster. Returns when every node reports it as complete, which no node does in its first two seconds.
    public static func start(
        primaries: Int = 3, replicated: Bool = false, append: Bool = false
    ) async throws -> ClusterServers {
        var servers: [RedisServer] = []
        for _ in 0..<(replicated ? 2 * primaries : primaries) {
            servers.append(try await node(append: append, nodeTimeout: replicated ? 3_000 : 15_000))
        }
        let cluster = ClusterServers(servers, primaries: primaries)
        try await cluster.form()
        return cluster
    }

    /// Starts a server that is a node. If another process takes one of its two ports at this moment,
    /// it tries other ports.
    /// - Parameter nodeTimeout: the milliseconds of silence after which the other nodes give a node up. On a busy
    ///   machine a short time makes them give up a healthy node, so use one only where a replica must take over.
    static func node(
        append: Bool = false, nodeTimeout: Int = 15_000, extra: [String] = [], clock: TestClock? = nil
    ) async throws -> RedisServer {
        for _ in 0..<4 {
            do {
                return try await RedisServer.start(
                    append: append, tcp: true, extra: try arguments(nodeTimeout: nodeTimeout) + extra, clock: clock)
            } catch RedisServerError.failed {}
        }
        return try await RedisServer.start(
            append: append, tcp: true, extra: try arguments(nodeTimeout: nodeTimeout) + extra, clock: clock)
    }

    /// The arguments that make a server a node, with its own port for the cluster bus.
    public static func arguments(nodeTimeout: Int = 1_000) throws -> [String] {
        [
            "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", "\(try freePort())",
            "--cluster-node-timeout", "\(nodeTimeout)", "--cluster-replica-validity-factor", "0",
            "--repl-diskless-sync-delay", "0",
        ]
    }

    /// Makes a cluster of primaries that the caller starts and stops, as soon as they answer on their unix sockets.
    /// `port` is the TLS port if the nodes use TLS among themselves.
    public static func form(_ nodes: [(socket: String, port: Int)]) async throws {
        for node in nodes {
            try await eventually("a node answers") {
                (try? firstLine(of: "PING", on: connectedSocket(path: node.socket))) == "+PONG"
            }
        }
        let clients = try nodes.map {
            RedisClient(url: try RedisURL("unix://" + $0.socket), connections: 1, logger: .quiet)
        }
        try await form(clients, ports: nodes.map(\.port), primaries: clients.count)
    }

    init(_ servers: [RedisServer], primaries count: Int, tlsPorts: [Int]? = nil) {
        self.tlsPorts = tlsPorts
        primaries = Array(servers.prefix(count))
        replicas = Array(servers.dropFirst(count))
        clients = servers.map { RedisClient(url: $0.socketURL, connections: 1, logger: .quiet) }
    }

    func form() async throws {
        let all = primaries + replicas
        try await Self.form(clients, ports: tlsPorts ?? all.map { $0.port ?? 0 }, primaries: primaries.count)
    }

    /// Forms the cluster. The first of `clients` are those of the primaries. The others are those of one replica
    /// each, in the same order.
    ///
    /// Each node has an epoch of its own from the start, as `redis-cli --cluster create` gives it. Nodes of one epoch
    /// settle it among themselves by raising it, and who raises it last claims its slots again, also one just moved.
    private static func form(_ clients: [RedisClient], ports: [Int], primaries: Int) async throws {
        for (index, client) in clients.enumerated() {
            try await client.send(RedisCommand("CLUSTER", ["SET-CONFIG-EPOCH", .int(index + 1)]))
        }
        for (index, client) in clients.prefix(primaries).enumerated() {
            let range = range(index, of: primaries)
            try await client.send(
                RedisCommand("CLUSTER", ["ADDSLOTSRANGE", .int(range.lowerBound), .int(range.upperBound - 1)]))
        }
        for (index, client) in clients.enumerated() {
            for (other, port) in zip(clients[..<index], ports) {
                let bus = try await other.configValue("cluster-port") ?? ""
                try await client.send(RedisCommand("CLUSTER", ["MEET", "127.0.0.1", .int(port), .string(bus)]))
            }
        }
        let replicas = clients.dropFirst(primaries)
        for (client, primary) in zip(replicas, clients) {
            let id = try await primary.send(RedisCommand("CLUSTER", ["MYID"])).string()
            try await eventually("a replica knows its primary") {
                let reply = try await client.pipeline([RedisCommand("CLUSTER", ["REPLICATE", .string(id)])])[0]
                return reply.error == nil
            }
        }
        for (index, client) in clients.enumerated() {
            try await eventually("node \(index) thinks the cluster complete") {
                let text = try await client.send(RedisCommand("CLUSTER", ["INFO"])).string()
                return text.contains("cluster_state:ok") && text.contains("cluster_known_nodes:\(clients.count)\r")
            }
        }
        for client in replicas {
            try await eventually("a replica has its primary's data") {
                try await client.info(section: "replication")["master_link_status"] == "up"
            }
        }
        // Wait until each primary reports every replica, so that a client which asks any of them learns all.
        for client in clients.prefix(primaries) {
            try await eventually("the primaries know the replicas") {
                let ranges = try await client.send(RedisCommand("CLUSTER", ["SLOTS"])).array()
                return ranges.count == primaries && ranges.allSatisfy { $0.count == (replicas.isEmpty ? 3 : 4) }
            }
        }
    }

    private static func range(_ index: Int, of count: Int) -> Range<Int> {
        16_384 * index / count..<16_384 * (index + 1) / count
    }

    /// `redis+cluster://127.0.0.1:port,…` with all nodes.
    public var url: RedisURL { Self.url(primaries + replicas) }

    /// `rediss+cluster://127.0.0.1:port` with the first node.
    public func tlsURL() throws -> RedisURL { try RedisURL("rediss+cluster://127.0.0.1:\(tlsPorts?.first ?? 0)") }

    public static func url(_ nodes: [RedisServer]) -> RedisURL {
        let text = "redis+cluster://" + nodes.map { "127.0.0.1:\($0.port ?? 0)" }.joined(separator: ",")
        do { return try RedisURL(text) } catch { fatalError("\(error)") }
    }

    /// The client of this node only.
    public func client(of node: RedisServer) -> RedisClient {
        guard let index = (primaries + replicas).firstIndex(where: { $0 === node }) else { fatalError("no such node") }
        return clients[index]
    }

    public func id(of node: RedisServer) async throws -> String {
        try await client(of: node).send(RedisCommand("CLUSTER", ["MYID"])).string()
    }

    /// The slot of a key. The ranges are those of the time when the cluster was made.
    public func slot(of key: String) async throws -> Int {
        try await clients[0].send(RedisCommand("CLUSTER", ["KEYSLOT", .string(key)])).integer()
    }

    public func primary(of key: String) async throws -> RedisServer {
        let slot = try await slot(of: key)
        return primaries[primaries.indices.first { Self.range($0, of: primaries.count).contains(slot) } ?? 0]
    }

    /// Begins to move a slot. A client that asks the old node for a missing key is sent to the new one.
    public func beginMove(slot: Int, from source: RedisServer, to target: RedisServer) async throws {
        try await client(of: target).send(
            RedisCommand("CLUSTER", ["SETSLOT", .int(slot), "IMPORTING", .string(try await id(of: source))]))
        try await client(of: source).send(
            RedisCommand("CLUSTER", ["SETSLOT", .int(slot), "MIGRATING", .string(try await id(of: target))]))
    }

    public func moveKeys(_ keys: [String], from source: RedisServer, to target: RedisServer) async throws {
        try await client(of: source).send(
            RedisCommand(
                "MIGRATE",
                ["127.0.0.1", .int(target.port ?? 0), "", "0", "5000", "KEYS"] + keys.map { .string($0) }))
    }

    public func endMove(slot: Int, from source: RedisServer, to target: RedisServer) async throws {
        let owner = try await id(of: target)
        for node in [target, source] {
            try await client(of: node).send(RedisCommand("CLUSTER", ["SETSLOT", .int(slot), "NODE", .string(owner)]))
        }
    }

    public func stop() { for server in primaries + replicas { server.stop() } }
}
