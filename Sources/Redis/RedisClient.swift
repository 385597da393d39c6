public import Logging

/// A few connections to one Redis, or to each node of a cluster, that all callers share. Nothing here blocks the caller's thread.
///
/// Since connections are shared, commands that change the connection's state (SELECT, WATCH, SUBSCRIBE, MULTI by hand)
/// or block it (BLPOP, XREADGROUP … BLOCK) have no place here: `transaction` and `RedisBlockingConnection` exist for that.
///
/// In a cluster each command goes to the node that owns its keys, which must share a hash tag; one without keys says near which key
/// it is to be answered, or is put to each primary.
public final class RedisClient: Sendable {
    private enum Servers: Sendable {
        case one(RedisNode)
        case cluster(RedisCluster)
    }
    private let servers: Servers
    private let settings: ConnectionSettings

    /// Connects when the first command comes. `scripts` are loaded on each new connection, so that their first call is
    /// no extra round trip. `connections`: to each node of a cluster.
    public init(
        url: RedisURL, connections: Int = 2, scripts: [RedisScript] = [], options: RedisOptions = RedisOptions(),
        logger: Logger
    ) {
        settings = ConnectionSettings(url: url, options: options, scripts: scripts, threadName: "redis", logger: logger)
        servers =
            if case .cluster(let seeds) = url.endpoint {
                .cluster(RedisCluster(Topology(seeds: seeds, settings), settings, connections: connections))
            } else {
                .one(RedisNode(settings, connections: connections))
            }
    }

    private init(_ servers: Servers, _ settings: ConnectionSettings) {
        self.servers = servers
        self.settings = settings
    }

    /// A client of its own to the same server, with one connection, for commands after which the server says nothing for up
    /// to `silence` (WAIT). Scripts are not loaded there.
    public func separate(silence: Duration) -> RedisClient {
        var settings = settings
        settings.options.commandTimeout += silence
        settings.scripts = []
        let servers: Servers =
            switch servers {
            case .one: .one(RedisNode(settings, connections: 1))
            case .cluster(let cluster): .cluster(RedisCluster(cluster.topology, settings, connections: 1))
            }
        return RedisClient(servers, settings)
    }

    /// A connection of its own to the same server, for commands that wait there; in a cluster to the node that has their keys.
    public func blockingConnection() -> RedisBlockingConnection {
        switch servers {
        case .one: RedisBlockingConnection(settings, nil)
        case .cluster(let cluster): RedisBlockingConnection(settings, cluster.topology)
        }
    }

    /// Keys of several hash tags may lie on several servers.
    public var isCluster: Bool { if case .cluster = servers { true } else { false } }

    /// Such as `TLS 1.3`; nil without TLS, and before the first connection.
    public var encryption: String? {
        let minor =
            switch servers {
            case .one(let node): node.tlsMinorVersion
            case .cluster(let cluster): cluster.tlsMinorVersion
            }
        return minor.map { "TLS 1.\($0)" }
    }

    /// All commands in one round trip on one connection; error replies stay in their place. In a cluster one round trip with
    /// each node, all at once: commands with one key, or with keys that stay together, run in their order, others in none.
    ///
    /// A script that the server has lost (SCRIPT FLUSH, restart) is loaded and its command alone repeated, after the rest. Where
    /// the order matters, the pipeline runs in steps.
    public func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        switch servers {
        case .one(let node): try await node.pipeline(commands)
        case .cluster(let cluster): try await cluster.pipeline(commands)
        }
    }

    /// The same in steps: those before an index of `boundaries`, which ascend, have been executed when those from it on begin. One
    /// server does that in a single round trip; a cluster takes one for each step, and sends nothing behind a step with an error
    /// reply, which then stands in the place of the rest: one node may refuse what the others would build on. One server that has
    /// lost a script executes the steps behind it twice, the second time in order: they must bear that.
    public func pipeline(
        _ commands: [RedisCommand], inStepsAt boundaries: [Int]
    ) async throws(RedisError) -> [RedisReply] {
        let cluster: RedisCluster
        switch servers {
        case .one(let node): return try await node.pipeline(commands, inStepsAt: boundaries)
        case .cluster(let servers): cluster = servers
        }
        var replies: [RedisReply] = []
        for end in boundaries + [commands.count] where end > replies.count {
            do throws(RedisError) {
                replies += try await cluster.pipeline(Array(commands[replies.count..<end]))
            } catch {
                if replies.isEmpty { throw error }
                throw .lost("a step of several: \(error.why)")
            }
            if let refusal = replies.first(where: { $0.error != nil }) {
                return replies + Array(repeating: refusal, count: commands.count - replies.count)
            }
        }
        return replies
    }

    /// Each node's commands in one round trip on one connection, and `last`, which has no keys, behind them (WAIT): for each
    /// command its reply, and that to what stood behind it.
    public func pipeline(
        _ commands: [RedisCommand], eachNodeThen last: RedisCommand
    ) async -> [Result<(reply: RedisReply, last: RedisReply), RedisError>] {
        do throws(RedisError) {
            switch servers {
            case .one(let node):
                let replies = try await node.pipeline(commands + [last])
                return replies.dropLast().map { .success(($0, replies[commands.count])) }
            case .cluster(let cluster):
                return try await cluster.outcomes(commands, last: last).map { outcome in
                    outcome.map { ($0.reply, $0.last ?? .null) }
                }
            }
        } catch {
            return commands.map { _ in .failure(error) }
        }
    }

    /// One command; an error reply is thrown.
    @discardableResult
    public func send(_ command: RedisCommand) async throws(RedisError) -> RedisReply {
        let reply = try await pipeline([command])[0]
        if let error = reply.error { throw error }
        return reply
    }

    /// MULTI, the commands, EXEC in one round trip: an atomic view. All keys must share a hash tag.
    ///
    /// An error found before EXEC is thrown, and nothing was executed; one that a command meets inside EXEC stays in its
    /// place, since Redis executes the others all the same.
    public func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        switch servers {
        case .one(let node): try await node.transaction(commands)
        case .cluster(let cluster): try await cluster.transaction(commands)
        }
    }

    /// Commands without keys, at every server that takes writes. `node`: which one it is, where there are several.
    public func onEachPrimary(
        _ commands: [RedisCommand]
    ) async throws(RedisError) -> [(node: String?, replies: [RedisReply])] {
        switch servers {
        case .one(let node): [(nil, try await node.pipeline(commands))]
        case .cluster(let cluster): try await cluster.onEachPrimary(commands).map { ($0.node, $0.replies) }
        }
    }

    /// Fails what is queued with `closed` and what was written with `lost`, closes the connections and ends their threads.
    public func close() async {
        switch servers {
        case .one(let node):
            node.close()
            await node.waitUntilEnded()
        case .cluster(let cluster): await cluster.close()
        }
    }
}
