/// The connections of one client that a `ServerWatch` looks after, as a value, and whether the task of the watch runs.
///
///     idle ── follow ──▶ watching ⟲ goesOn, while there are connections
///      ▲                     │
///      └── goesOn, with none ┘
struct WatchedConnections {
    /// By connection: its server, or nil while it waits for the address of one.
    private var servers: [ObjectIdentifier: (mailbox: Mailbox, server: RedisAddress?)] = [:]
    private var isWatching = false

    var isEmpty: Bool { servers.isEmpty }
    var isAnyConnected: Bool { servers.values.contains { $0.server != nil } }

    /// A connection waits for the address of a server.
    mutating func wait(_ mailbox: Mailbox) { servers[ObjectIdentifier(mailbox)] = (mailbox, nil) }

    /// A connection uses a server.
    /// - Returns: whether the caller must start the task of the watch
    mutating func follow(_ mailbox: Mailbox, at server: RedisAddress) -> Bool {
        servers[ObjectIdentifier(mailbox)] = (mailbox, server)
        defer { isWatching = true }
        return !isWatching
    }

    /// A connection has ended, or could not be made.
    mutating func leave(_ mailbox: Mailbox) { servers[ObjectIdentifier(mailbox)] = nil }

    /// The task of the watch asks before each question.
    /// - Returns: false: there is no connection any more, so the task ends
    mutating func goesOn() -> Bool {
        isWatching = !isEmpty
        return isWatching
    }

    /// - Parameter condition: is about the connection's server; nil: it waits for one
    func mailboxes(where condition: (RedisAddress?) -> Bool = { _ in true }) -> [Mailbox] {
        servers.values.filter { condition($0.server) }.map(\.mailbox)
    }
}
