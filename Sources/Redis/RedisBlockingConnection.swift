public import Logging
internal import Synchronization

/// A connection of its own for commands that wait at the server, such as XREADGROUP … BLOCK.
///
/// Commands go out one after the other and are answered in that order; a second caller waits for the first one's reply.
/// Scripts are not loaded here.
public final class RedisBlockingConnection: Sendable {
    private struct State {
        /// Commands begun, and ended.
        var begun = 0
        var ended = 0
        /// An interrupt came when nothing was there to be interrupted: the next command returns at once.
        var isInterrupted = false
    }

    /// The server that is talked to now.
    private struct Line {
        var address: RedisAddress?
        var node: RedisNode?
        var isClosed = false
    }

    private let state = Mutex(State())
    private let line: Mutex<Line>
    private let settings: ConnectionSettings
    /// Of a cluster: where the owner of a command's keys is looked up.
    private let topology: Topology?

    /// Connects when the first command comes.
    public convenience init(url: RedisURL, options: RedisOptions = RedisOptions(), logger: Logger) {
        let settings = ConnectionSettings(url: url, options: options, threadName: "redis-blocking", logger: logger)
        if case .cluster(let seeds) = url.endpoint {
            self.init(settings, Topology(seeds: seeds, settings))
        } else {
            self.init(settings, nil)
        }
    }

    init(_ settings: ConnectionSettings, _ topology: Topology?) {
        var settings = settings
        settings.threadName = "redis-blocking"
        settings.scripts = []
        self.settings = settings
        self.topology = topology
        line = Mutex(Line(node: topology == nil ? RedisNode(settings, connections: 1) : nil))
    }

    deinit { close() }

    /// One command; an error reply is thrown.
    /// - Parameter blockingFor: how long the command itself asks the server to wait; `commandTimeout` is added to it.
    ///   A command that blocks for ever (BLOCK 0) has no place here: a silent server could not be told from a dead one.
    /// - Returns: the reply, nil when the server's wait ended without one or `interrupt` was called.
    public func send(_ command: RedisCommand, blockingFor: Duration) async throws(RedisError) -> RedisReply {
        let mayGo = state.withLock { state in
            guard !state.isInterrupted else {
                state.isInterrupted = false
                return false
            }
            state.begun += 1
            return true
        }
        guard mayGo else { return .null }
        defer { state.withLock { $0.ended += 1 } }
        let reply =
            if let topology {
                try await send(command, blockingFor, topology)
            } else {
                try await node(at: nil).send(command, blockingFor: blockingFor)
            }
        if let error = reply.error { throw error }
        return reply
    }

    /// At the node that owns its keys, wherever that is now.
    private func send(
        _ command: RedisCommand, _ blocking: Duration, _ topology: Topology
    ) async throws(RedisError) -> RedisReply {
        let slot = try command.slot()
        guard var address = try await topology.map()[slot] else { throw RedisError(reply: Topology.unserved(slot)) }
        var isAsking = false
        for _ in 0...Topology.mostRedirections {
            do throws(RedisError) {
                let reply = try await node(at: address).send(command, blockingFor: blocking, asking: isAsking)
                switch topology.judge(reply.error, at: address) {
                case .moved(_, let owner): (address, isAsking) = (owner, false)
                case .ask(let owner): (address, isAsking) = (owner, true)
                case nil:
                    // It waited where its keys are no more: they went to another node, which this one names when it is asked.
                    guard case .server("UNBLOCKED", _) = reply.error else { return reply }
                    isAsking = false
                }
            } catch {
                guard let owner = await topology.owner(of: slot, insteadOf: address, error) else { throw error }
                (address, isAsking) = (owner, false)
            }
        }
        throw RedisError(reply: Topology.astray(slot))
    }

    /// The connection, made anew when it is another server's turn. The one before ends when nobody waits on it any more.
    private func node(at address: RedisAddress?) throws(RedisError) -> RedisNode {
        let node: RedisNode? = line.withLock { line in
            if line.isClosed { return nil }
            if let node = line.node, line.address == address { return node }
            line.address = address
            line.node = RedisNode(address.map(settings.at) ?? settings, connections: 1)
            return line.node
        }
        guard let node else { throw .closed }
        return node
    }

    /// Wakes the command that waits, or the next one if none does: it returns nil, as if its time were up. By
    /// CLIENT UNBLOCK on a short-lived second connection, so that no entry the server has handed out is lost on the way.
    ///
    /// Returns when the command is awake. Where the server does not let us (no right to CLIENT UNBLOCK, not reachable),
    /// logs a warning and leaves the command to its own time limit.
    public func interrupt() async {
        let target: Int? = state.withLock { state in
            guard state.ended < state.begun else {
                state.isInterrupted = true
                return nil
            }
            return state.begun
        }
        guard let target else { return }
        // The command may be on its way to the server still, which then has nothing to wake yet: ask again.
        var control: (address: RedisAddress?, node: RedisNode)?
        var pause = Duration.milliseconds(1)
        while state.withLock({ $0.ended }) < target {
            let (address, id) = line.withLock { ($0.address, $0.node?.clientID ?? 0) }
            if id != 0 {
                if control == nil || control?.address != address {
                    control = (address, RedisNode(address.map(settings.at) ?? settings, connections: 1))
                }
                do throws(RedisError) {
                    let unblock = RedisCommand("CLIENT", ["UNBLOCK", .int(id)])
                    if try await control?.node.pipeline([unblock])[0].integer() == 1 { break }
                } catch {
                    logger.warning("cannot interrupt a blocked read", metadata: ["error": "\(error)"])
                    break
                }
            }
            // A task of its own, because a cancelled caller (a drain, most likely) could not sleep.
            await Task.detached { [pause] in try? await Task.sleep(for: pause) }.value
            pause = min(pause * 2, .milliseconds(50))
        }
        control?.node.close()
        await control?.node.waitUntilEnded()
    }

    private var logger: Logger { settings.logger }

    /// Fails what waits: with `lost` if it was written, else with `closed`. Ends the thread. Repeatable.
    public func close() {
        line.withLock { line in
            line.isClosed = true
            line.node?.close()
        }
    }
}
