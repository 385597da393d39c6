internal import Synchronization

/// The commands on a new connection before any caller's commands.
///
/// AUTH and SELECT must succeed. The name, the connection's id and the scripts may fail, because a user may lack the
/// right and a server may still be loading.
struct Greeting {
    private enum Step {
        case mustSucceed, mayFail, clientID, primary
    }
    private var commands: [RedisCommand] = []
    private var steps: [Step] = []

    init(url: RedisURL, options: RedisOptions, scripts: [RedisScript]) {
        if let password = url.password {
            add(RedisCommand("AUTH", (url.user.map { [.string($0)] } ?? []) + [.string(password)]), .mustSucceed)
        }
        // Check the role, because a sentinel may not know of a failover yet.
        if case .sentinels = url.endpoint { add(RedisCommand("ROLE"), .primary) }
        if url.database != 0 { add(RedisCommand("SELECT", [.int(url.database)]), .mustSucceed) }
        add(RedisCommand("CLIENT", ["SETNAME", .string(options.clientName)]), .mayFail)
        add(RedisCommand("CLIENT", ["ID"]), .clientID)
        for script in scripts { add(script.loadCommand, .mayFail) }
    }

    private mutating func add(_ command: RedisCommand, _ step: Step) {
        commands.append(command)
        steps.append(step)
    }

    /// Connects and sends the greeting. Blocks the connection's thread.
    ///
    /// The longest time is twice the connect timeout, or three times with TLS, and as much again for
    /// each sentinel asked.
    /// - Parameter settings: the server and the timeouts.
    /// - Parameter attempt: how many attempts have failed before this one.
    /// - Parameter mailbox: the wait ends when it closes.
    func connect(
        _ settings: ConnectionSettings, attempt: Int, _ mailbox: Mailbox
    ) throws(LinkFailure) -> RedisLink {
        let timeout = settings.options.connectTimeout
        let address: RedisAddress
        switch settings.url.endpoint {
        case .server(let server): address = server
        case .sentinels(let sentinels): address = try sentinels.address(turn: attempt, settings, mailbox)
        // A connection goes to one node of a cluster, and `ConnectionSettings.at` names that node.
        case .cluster: throw .broken("a connection to no node of the cluster")
        }
        do throws(LinkFailure) {
            var link = try RedisLink(address, settings, mailbox)
            try judge(link.exchange(commands, within: timeout, mailbox), mailbox)
            mailbox.tlsMinorVersion.store(link.wire.tlsMinorVersion, ordering: .relaxed)
            return link
        } catch {
            if case .sentinels = settings.url.endpoint { throw error.at("the primary at \(address)") }
            throw error
        }
    }

    private func judge(_ replies: [RedisReply], _ mailbox: Mailbox) throws(LinkFailure) {
        for (reply, step) in zip(replies, steps) {
            switch step {
            case .mustSucceed:
                if let error = reply.error { throw .refused(error) }
            case .clientID:
                mailbox.clientID.store((try? reply.integer()) ?? 0, ordering: .relaxed)
            case .primary:
                // If the user may not ask for the role, a READONLY reply shows it later.
                if let role = try? reply.array().first?.string(), role != "master" {
                    throw .broken("it is a replica; the failover is not complete")
                }
            case .mayFail: break
            }
        }
    }
}
