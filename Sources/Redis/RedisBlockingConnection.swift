internal import Logging
internal import Synchronization

/// A separate connection for commands that wait at the server, such as XREADGROUP … BLOCK. It loads no scripts.
/// Commands are sent one after the other: a second caller waits for the reply of the first.
public final class RedisBlockingConnection: Sendable {
    private struct State {
        /// How many commands were started and how many ended.
        var begun = 0
        var ended = 0
        /// `interrupt` was called while no command waited, so the next command returns at once.
        var isInterrupted = false
        /// The last command that `interrupt` wakes.
        var interrupted = 0
        /// The last command came back before its time.
        var isEarly = false
        /// The server that this connection currently uses. Only a node of a cluster has an address here.
        var address: RedisAddress?
        var node: RedisNode?
        var isClosed = false
    }

    /// The pause after a reply that came too early.
    static let earlyPause: Duration = .milliseconds(100)

    private let state = Mutex(State())
    private let settings: ConnectionSettings
    /// Set for a cluster: finds the node that owns a command's keys.
    private let topology: Topology?

    /// Makes a connection. It connects when the first command comes.
    init(_ settings: ConnectionSettings, _ topology: Topology?) {
        var settings = settings
        settings.threadName = "redis-blocking"
        settings.scripts = []
        self.settings = settings
        self.topology = topology
    }

    /// Sends one command.
    /// Do not send a command that blocks for ever (BLOCK 0), because a silent server would look like a dead one.
    /// - Parameter blockingFor: how long the command asks the server to wait. `commandTimeout` is added to it.
    /// A server that does not wait, as some that only resemble Redis, gets a pause after each reply, so that the caller
    /// does not ask it thousands of times a second.
    /// - Returns: the reply. Nil if the server's wait ended without one, or `interrupt` was called.
    /// - Throws: also for an error reply.
    public func send(_ command: RedisCommand, blockingFor: Duration) async throws(RedisError) -> RedisReply {
        let number: Int? = state.withLock { state in
            defer { state.isInterrupted = false }
            if state.isInterrupted { return nil }
            state.begun += 1
            return state.begun
        }
        guard let number else { return .null }
        defer { state.withLock { $0.ended += 1 } }
        let begun = ContinuousClock.now
        let reply: RedisReply
        if let topology {
            reply = try await topology.follow(try command.slot()) { (address, isAsking) throws(RedisError) in
                try await send(command, blockingFor, at: address, asking: isAsking)
            }
        } else {
            reply = try await send(command, blockingFor, at: nil, asking: false)
        }
        let left = blockingFor - begun.duration(to: .now)
        let (isEarly, isFirst) = state.withLock { state in
            let isEarly = reply.isNil && left > blockingFor / 2 && state.interrupted < number
            defer { state.isEarly = isEarly }
            return (isEarly, isEarly && !state.isEarly)
        }
        if isFirst {
            settings.logger.warning(
                "Redis does not wait for entries: reads pause", metadata: ["command": "\(command.name)"])
        }
        if isEarly { try? await Task.sleep(for: min(left, Self.earlyPause)) }
        return reply
    }

    private func send(
        _ command: RedisCommand, _ blocking: Duration, at address: RedisAddress?, asking isAsking: Bool
    ) async throws(RedisError) -> RedisReply {
        let reply = try await node(at: address).send(command, blockingFor: blocking, asking: isAsking)
        if let error = reply.error { throw error }
        return reply
    }

    /// Returns the connection, and makes a new one for another server. The old one closes after its last reply.
    private func node(at address: RedisAddress?) throws(RedisError) -> RedisNode {
        try state.withLock { state throws(RedisError) in
            if state.isClosed { throw RedisError.closed }
            if let node = state.node, state.address == address { return node }
            let node = RedisNode(address.map(settings.at) ?? settings, connections: 1)
            state.address = address
            state.node = node
            return node
        }
    }

    /// Wakes the waiting command, or the next one if none waits. The command returns nil, as if its time were over.
    ///
    /// A second, short-lived connection sends CLIENT UNBLOCK, so no entry that the server has delivered is lost.
    /// Returns when the command is awake. If the server refuses CLIENT UNBLOCK or cannot be reached, this logs a
    /// warning and the command waits until its own time limit.
    public func interrupt() async {
        let awaited: Int? = state.withLock { state in
            guard state.ended < state.begun else {
                state.isInterrupted = true
                return nil
            }
            state.interrupted = state.begun
            return state.begun
        }
        guard let awaited else { return }
        // The command may still be on its way to the server, which then has nothing to wake. Ask again.
        var control: (address: RedisAddress?, node: RedisNode)?
        var pause = Duration.milliseconds(1)
        while state.withLock({ $0.ended }) < awaited {
            let (address, id) = state.withLock { ($0.address, $0.node?.clientID ?? 0) }
            if id != 0 {
                if control == nil || control?.address != address {
                    control = (address, RedisNode(address.map(settings.at) ?? settings, connections: 1))
                }
                do throws(RedisError) {
                    let unblock = RedisCommand("CLIENT", ["UNBLOCK", .int(id)])
                    if try await control?.node.pipeline([unblock])[0].integer() == 1 { break }
                } catch {
                    settings.logger.warning("cannot interrupt a blocked read", metadata: ["error": "\(error)"])
                    break
                }
            }
            // Sleep in a task of its own, because a cancelled caller (most likely a drain) cannot sleep.
            await Task.detached { [pause] in try? await Task.sleep(for: pause) }.value
            pause = min(pause * 2, .milliseconds(50))
        }
        await control?.node.end()
    }

    /// Ends the thread. A waiting command fails as `lost` if it was written, else as `closed`. May be repeated.
    public func close() {
        state.withLock { state in
            state.isClosed = true
            state.node?.close()
        }
    }
}
