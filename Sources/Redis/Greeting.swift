internal import Synchronization

/// What is said on a new connection before any caller's command: AUTH and SELECT, which must succeed; a name, the
/// connection's id and the scripts, which need not (a user may lack the right, a server may still be loading).
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
        // A sentinel may not have heard yet.
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

    /// Blocks the connection's thread for at most twice the connect timeout, to connect and to be greeted back, thrice with TLS,
    /// and as long for each sentinel that has to be asked. `attempt`: how many have failed before.
    func connect(
        _ settings: ConnectionSettings, attempt: Int, _ mailbox: Mailbox
    ) throws(LinkFailure) -> RedisLink {
        let timeout = settings.options.connectTimeout
        let address: RedisAddress
        switch settings.url.endpoint {
        case .server(let server): address = server
        case .sentinels(let sentinels): address = try sentinels.address(turn: attempt, settings, mailbox)
        // A connection is to one node, which `ConnectionSettings.at` names.
        case .cluster: throw .broken("a connection to no node of the cluster")
        }
        do throws(LinkFailure) {
            var link = try RedisLink(address, settings, mailbox)
            try judge(link.exchange(commands, within: timeout, mailbox), mailbox)
            mailbox.tlsMinorVersion.store(link.tlsMinorVersion, ordering: .relaxed)
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
                // A user without the right to ask is told by READONLY.
                if let role = try? reply.array().first?.string(), role != "master" {
                    throw .broken("it is a replica; the failover is not complete")
                }
            case .mayFail: break
            }
        }
    }
}
