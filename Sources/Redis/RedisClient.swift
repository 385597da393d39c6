public import Logging

/// A few connections to one Redis, or to each node of a cluster, that all callers share. No call blocks its thread.
///
/// Because connections are shared, do not send commands that change the connection's state (SELECT, WATCH, SUBSCRIBE,
/// MULTI) or block it (BLPOP, XREADGROUP … BLOCK). Use `transaction` and `RedisBlockingConnection` instead.
///
/// In a cluster each command goes to the node that owns its keys, and these must share a hash tag. A command without
/// keys names a key whose node gets it, or goes to every primary.
public final class RedisClient: Sendable {
    private let settings: ConnectionSettings
    private let deployment: any RedisDeployment
    /// Nil for a single server.
    let topology: Topology?

    /// Makes a client. It connects when the first command comes.
    /// - Parameters:
    ///   - url: the server, the sentinels or some nodes of the cluster.
    ///   - connections: how many connections to the server, or to each node of a cluster.
    ///   - scripts: each new connection loads the scripts that the server lacks, so that their first call needs no
    ///     extra round trip.
    ///   - logger: receives lines about lost and new connections.
    public convenience init(
        url: RedisURL, connections: Int = 2, scripts: [RedisScript] = [], options: RedisOptions = RedisOptions(),
        logger: Logger
    ) {
        var settings = ConnectionSettings(
            url: url, options: options, scripts: scripts, threadName: "redis", logger: logger)
        switch url.servers {
        case .sentinels(let sentinels): settings.watch = PrimaryWatch(sentinels, settings)
        case .server: if options.needsPrimary { settings.watch = RoleWatch(settings) }
        case .cluster: break
        }
        var topology: Topology?
        if case .cluster(let seeds) = url.servers { topology = Topology(seeds: seeds, settings) }
        self.init(settings, topology, connections: connections)
    }

    private init(_ settings: ConnectionSettings, _ topology: Topology?, connections: Int) {
        self.settings = settings
        self.topology = topology
        deployment =
            topology.map { RedisCluster($0, settings, connections: connections) }
            ?? RedisNode(settings, connections: connections)
    }

    /// A separate client with one connection to the same server. Scripts are not loaded there.
    /// - Parameter silence: the longest time for which the server may be silent after a command (WAIT).
    public func separate(silence: Duration) -> RedisClient {
        var settings = settings
        settings.options.commandTimeout += silence
        settings.scripts = []
        settings.measuresRoundTrips = false
        return RedisClient(settings, topology, connections: 1)
    }

    /// A separate connection to the same server for commands that wait there, or to the node that owns their keys.
    public func blockingConnection() -> RedisBlockingConnection { RedisBlockingConnection(settings, topology) }

    /// Whether keys of different hash tags may be on different servers.
    public var isCluster: Bool { topology != nil }
    /// Text such as `TLS 1.3`. Nil without TLS, and before the first connection.
    public var encryption: String? { deployment.tlsMinorVersion.map { "TLS 1.\($0)" } }

    /// Sends all commands in one round trip on one connection. An error reply keeps its position.
    ///
    /// A cluster needs one round trip for each node, all at the same time. Only commands of one node keep their order.
    ///
    /// If the server has lost a script (SCRIPT FLUSH, restart), the script is loaded and only its command is repeated,
    /// after the others. Use steps where the order matters: each step is executed before the next one begins.
    /// - One server executes all steps in a single round trip. If it has lost a script, it executes the later steps
    ///   twice, the second time in order, so they must allow that.
    /// - A cluster needs one round trip for each step, because one node may refuse a command on which others build.
    ///   After an error reply nothing more is sent, and that error takes the place of all further replies.
    /// - Parameter boundaries: the index of the first command of each step after the first one, ascending.
    public func pipeline(
        _ commands: [RedisCommand], inStepsAt boundaries: [Int] = []
    ) async throws(RedisError) -> [RedisReply] {
        try await deployment.pipeline(commands, inStepsAt: boundaries)
    }

    /// Sends each node's commands in one round trip on one connection, with `last` after them (WAIT).
    /// - Parameter last: a command without keys.
    /// - Returns: for each command its reply, and the reply to the `last` that followed it.
    public func pipeline(
        _ commands: [RedisCommand], eachNodeThen last: RedisCommand
    ) async -> [Result<(reply: RedisReply, last: RedisReply), RedisError>] {
        do throws(RedisError) { return try await deployment.pipeline(commands, eachNodeThen: last) } catch {
            return commands.map { _ in .failure(error) }
        }
    }

    /// Sends each node's commands in one round trip, for work of which each part stands for itself: a node that is away
    /// fails only its own commands, and at once if a connection attempt has failed.
    public func pipeline(eachOf commands: [RedisCommand]) async -> [Result<RedisReply, RedisError>] {
        do throws(RedisError) { return try await deployment.pipeline(eachOf: commands) } catch {
            return commands.map { _ in .failure(error) }
        }
    }

    /// Whether the node that owns the key is known to be away. One server never counts as away.
    public func isAway(_ key: RedisKey) -> Bool { deployment.isAway(key) }

    /// The keys in groups. One command may name all keys of a group, because they are of one slot or of one server.
    public func together(_ keys: [RedisKey]) -> [[RedisKey]] {
        guard isCluster else { return keys.isEmpty ? [] : [keys] }
        return Dictionary(grouping: keys) { HashSlot(key: $0.description) }.map(\.value)
    }

    /// Sends one command. Throws for an error reply.
    @discardableResult public func send(_ command: RedisCommand) async throws(RedisError) -> RedisReply {
        let reply = try await pipeline([command])[0]
        if let error = reply.error { throw error }
        return reply
    }

    /// Sends MULTI, the commands and EXEC in one round trip, so that they are atomic. All keys must share a hash tag.
    ///
    /// An error before EXEC is thrown, and nothing was executed then. An error of one command inside EXEC keeps its
    /// position in the replies, because Redis executes the other commands anyway.
    public func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        try await deployment.transaction(commands)
    }

    /// Sends commands without keys to every server that takes writes. `node` names the server if there are several.
    public func onEachPrimary(
        _ commands: [RedisCommand]
    ) async throws(RedisError) -> [(node: String?, replies: [RedisReply])] {
        try await deployment.onEachPrimary(commands)
    }

    /// Closes the connections and ends their threads. Queued commands fail as `closed`, and written ones as `lost`.
    public func close() async { await deployment.end() }
}
