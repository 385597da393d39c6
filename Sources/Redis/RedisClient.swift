public import Logging

/// A few connections to one Redis, or to each node of a cluster, that all callers share. No call blocks
/// the caller's thread.
///
/// Because connections are shared, do not send commands that change the connection's state (SELECT, WATCH, SUBSCRIBE,
/// MULTI) or block it (BLPOP, XREADGROUP … BLOCK). Use `transaction` and `RedisBlockingConnection` instead.
///
/// In a cluster each command goes to the node that owns its keys, and these must share a hash tag. A command without
/// keys names a key whose node gets it, or goes to every primary.
public final class RedisClient: Sendable {
    private enum Servers: Sendable {
        case one(RedisNode)
        case cluster(RedisCluster)
    }
    private let servers: Servers
    private let settings: ConnectionSettings

    /// Makes a client. It connects when the first command comes.
    ///
    /// - Parameters:
    ///   - url: the server, the sentinels or some nodes of the cluster.
    ///   - connections: how many connections to the server, or to each node of a cluster.
    ///   - scripts: are loaded on each new connection, so that their first call needs no extra round trip.
    ///   - options: timeouts, name and TLS files.
    ///   - logger: receives lines about lost and new connections.
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

    /// A separate client with one connection to the same server. Scripts are not loaded there.
    /// - Parameter silence: the longest time for which the server may be silent after a command (WAIT).
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

    /// A separate connection to the same server, for commands that wait there. In a cluster it goes to the node
    /// that owns their keys.
    public func blockingConnection() -> RedisBlockingConnection {
        switch servers {
        case .one: RedisBlockingConnection(settings, nil)
        case .cluster(let cluster): RedisBlockingConnection(settings, cluster.topology)
        }
    }

    /// Whether keys of different hash tags may be on different servers.
    public var isCluster: Bool { if case .cluster = servers { true } else { false } }

    /// Text such as `TLS 1.3`. Nil without TLS, and before the first connection.
    public var encryption: String? {
        let minor =
            switch servers {
            case .one(let node): node.tlsMinorVersion
            case .cluster(let cluster): cluster.tlsMinorVersion
            }
        return minor.map { "TLS 1.\($0)" }
    }

    /// Sends all commands in one round trip on one connection. An error reply keeps its position.
    ///
    /// A cluster needs one round trip for each node, all at the same time. Commands whose keys are on one node run in
    /// their order. Between nodes there is no order.
    ///
    /// If the server has lost a script (SCRIPT FLUSH, restart), the script is loaded and only its command is repeated,
    /// after the others. Use steps where the order matters.
    public func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        switch servers {
        case .one(let node): try await node.pipeline(commands)
        case .cluster(let cluster): try await cluster.pipeline(commands)
        }
    }

    /// Sends all commands in steps: each step is executed before the next one begins.
    ///
    /// One server executes all steps in a single round trip. If it has lost a script, the later steps are executed
    /// twice, the second time in order, so they must allow that.
    ///
    /// A cluster needs one round trip for each step, because one node may refuse a command on which other nodes build.
    /// After an error reply in a step nothing more is sent, and that error takes the place of all further replies.
    /// - Parameter commands: all commands.
    /// - Parameter boundaries: the index of the first command of each step after the first one, ascending.
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

    /// Sends each node's commands in one round trip on one connection, with `last` after them (WAIT).
    /// - Parameter commands: all commands.
    /// - Parameter last: a command without keys.
    /// - Returns: for each command its reply, and the reply to the `last` that followed it.
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

    /// Sends one command. Throws for an error reply.
    @discardableResult
    public func send(_ command: RedisCommand) async throws(RedisError) -> RedisReply {
        let reply = try await pipeline([command])[0]
        if let error = reply.error { throw error }
        return reply
    }

    /// Sends MULTI, the commands and EXEC in one round trip, so that they are atomic. All keys must share a hash tag.
    ///
    /// An error before EXEC is thrown, and nothing was executed then. An error of one command inside EXEC keeps its
    /// position in the replies, because Redis executes the other commands anyway.
    public func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        switch servers {
        case .one(let node): try await node.transaction(commands)
        case .cluster(let cluster): try await cluster.transaction(commands)
        }
    }

    /// Sends commands without keys to every server that takes writes. `node` names the server if there are several.
    public func onEachPrimary(
        _ commands: [RedisCommand]
    ) async throws(RedisError) -> [(node: String?, replies: [RedisReply])] {
        switch servers {
        case .one(let node): [(nil, try await node.pipeline(commands))]
        case .cluster(let cluster): try await cluster.onEachPrimary(commands).map { ($0.node, $0.replies) }
        }
    }

    /// Closes the connections and ends their threads. Queued commands fail as `closed`, and written ones as `lost`.
    public func close() async {
        switch servers {
        case .one(let node):
            node.close()
            await node.waitUntilEnded()
        case .cluster(let cluster): await cluster.close()
        }
    }
}
