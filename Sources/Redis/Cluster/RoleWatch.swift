internal import Synchronization

/// Asks a single server for its role, twice a second while a client has connections to it.
///
/// A primary that an operator made a replica of another server keeps its connections. It refuses writes, but reads go on
/// and get older and older. So connections leave it, and new ones are refused, until it is a primary again.
final class RoleWatch: ServerWatch {
    /// The pause between two questions.
    private static let interval = Duration.milliseconds(500)
    /// The longest wait for an answer. A server that is silent is no replica.
    private static let patience = Duration.seconds(2)

    private struct State {
        var guests: [ObjectIdentifier: Mailbox] = [:]
        var isWatching = false
        var isReplica = false
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
            state.guests[ObjectIdentifier(mailbox)] = mailbox
            // The greeting has just asked.
            state.isReplica = false
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if mustStart { Task.detached { await self.watch() } }
    }

    func leave(_ mailbox: Mailbox) { state.withLock { _ = $0.guests.removeValue(forKey: ObjectIdentifier(mailbox)) } }

    func objection(to address: RedisAddress) -> String? {
        state.withLock { $0.isReplica } ? "it has become a replica" : nil
    }

    private func watch() async {
        // One connection for all questions. It closes with the last connection of the client.
        let node = RedisNode(settings, connections: 1)
        func isNeeded() -> Bool {
            state.withLock { state in
                state.isWatching = !state.guests.isEmpty
                return state.isWatching
            }
        }
        while isNeeded() {
            // Without an answer, or without the right to ask, a READONLY reply shows it later.
            if let role = try? await node.pipeline([RedisCommand("ROLE")])[0].array().first?.string() {
                let told = state.withLock { state in
                    state.isReplica = role != "master"
                    return state.isReplica ? Array(state.guests.values) : []
                }
                for mailbox in told { mailbox.tellNews() }
            }
            try? await Task.sleep(for: Self.interval)
        }
    }
}
