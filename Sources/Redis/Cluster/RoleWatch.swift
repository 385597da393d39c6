internal import Synchronization

/// Knows the role of a single server while a client has connections to it.
///
/// A server that becomes a replica breaks off each command that waits there. So one connection always waits (WAIT), and
/// asks for the role when it is disturbed, and every ten seconds. If a server does not wait, the watch asks twice a
/// second.
///
/// A primary that an operator made a replica of another server keeps its connections. It refuses writes, but reads go
/// on and get older and older. So connections leave it, and new ones are refused, until it is a primary again.
final class RoleWatch: ServerWatch {
    /// The pause between two questions to a server that does not wait.
    private static let interval = Duration.milliseconds(500)
    /// How long a command waits.
    private static let waiting = Duration.seconds(10)
    /// More replicas than any server has, so that it waits for them until the time is over.
    private static let replicas = 1_000_000
    /// The longest wait for an answer. A server that is silent is no replica.
    private static let patience = Duration.seconds(2)

    private struct State {
        var connections = WatchedConnections()
        var isReplica = false
        /// The connection for all questions. It closes with the last connection of the client.
        var node: RedisNode?
    }

    private let settings: ConnectionSettings
    private let state = Mutex(State())

    init(_ settings: ConnectionSettings) {
        var settings = settings.asking("redis-role", patience: Self.patience)
        settings.metrics = .none
        self.settings = settings
    }

    func follow(_ mailbox: Mailbox, at address: RedisAddress) {
        let mustStart = state.withLock { state in
            // The greeting has just asked.
            state.isReplica = false
            return state.connections.follow(mailbox, at: address)
        }
        if mustStart { Task.detached { await self.watch() } }
    }

    func leave(_ mailbox: Mailbox) {
        let unused = state.withLock { state -> RedisNode? in
            state.connections.leave(mailbox)
            guard state.connections.isEmpty else { return nil }
            defer { state.node = nil }
            return state.node
        }
        unused?.close()
    }

    func objection(to address: RedisAddress) -> String? {
        state.withLock { $0.isReplica } ? "it has become a replica" : nil
    }

    private func watch() async {
        var pause = Duration.zero
        while let node = neededNode() {
            // Without an answer, or without the right to ask, a READONLY reply shows it later.
            let role = try? await node.pipeline([RedisCommand("ROLE")])[0].array().first?.string()
            if let role {
                let told = state.withLock { state in
                    state.isReplica = role != "master"
                    return state.isReplica ? state.connections.mailboxes() : []
                }
                for mailbox in told { mailbox.tellNews() }
            }
            if role == "master", await waits(at: node) {
                pause = .zero
            } else {
                // One question at once, if the server was left alone until now: its role may be another one.
                if pause > .zero { try? await Task.sleep(for: pause) }
                pause = Self.interval
            }
        }
    }

    /// Nil if the client has no connection any more.
    private func neededNode() -> RedisNode? {
        state.withLock { state in
            guard state.connections.goesOn() else { return nil }
            let node = state.node ?? RedisNode(settings, connections: 1)
            state.node = node
            return node
        }
    }

    /// Waits at the server, as long as nothing happens there.
    /// - Returns: false if the command came back early: the role has changed, the connection broke, or this server
    ///   waits for nobody.
    private func waits(at node: RedisNode) async -> Bool {
        let begun = ContinuousClock.now
        let command = RedisCommand("WAIT", [.int(Self.replicas), .int(Self.waiting.components.seconds * 1_000)])
        let reply = try? await node.send(command, blockingFor: Self.waiting)
        return reply?.error == nil && reply != nil && begun.duration(to: .now) >= Self.waiting / 2
    }
}
