internal import Synchronization

/// The commands on a new connection before any caller's commands.
///
/// AUTH and SELECT must succeed. The name, the connection's id and the scripts may fail, because a user may lack the
/// right and a server may still be loading. The scripts come last.
struct Greeting {
    private enum Step { case mustSucceed, mayFail, clientID, primary }
    private let settings: ConnectionSettings
    private var steps: [(command: RedisCommand, step: Step)] = []

    init(_ settings: ConnectionSettings) {
        self.settings = settings
        let url = settings.url
        if let password = url.password {
            let arguments = [url.user, password].compactMap { $0.map(RedisArgument.string) }
            steps.append((RedisCommand("AUTH", arguments), .mustSucceed))
        }
        // Check the role, because the promoted server may not be ready yet.
        if settings.watch != nil { steps.append((RedisCommand("ROLE"), .primary)) }
        if url.database != 0 { steps.append((RedisCommand("SELECT", [.int(url.database)]), .mustSucceed)) }
        steps.append((RedisCommand("CLIENT", ["SETNAME", .string(settings.options.clientName)]), .mayFail))
        steps.append((RedisCommand("CLIENT", ["ID"]), .clientID))
    }

    /// Connects and sends the greeting. Blocks the connection's thread until the mailbox closes, at most for twice the
    /// connect timeout (three times with TLS, twice more with scripts), and some seconds more for the sentinels.
    func connect(_ mailbox: Mailbox) throws(LinkFailure) -> RedisLink {
        let address: RedisAddress
        switch settings.url.servers {
        case .server(let server): address = server
        case .sentinels:
            guard let primary = try settings.watch?.primary(for: mailbox) else {
                throw .broken("nobody asks the sentinels")
            }
            address = primary
        // A connection goes to one node of a cluster, and `ConnectionSettings.at` names that node.
        case .cluster: throw .broken("no node of the cluster was named for this connection")
        }
        do throws(LinkFailure) {
            var link = try link(to: address, mailbox)
            try judge(link.exchange(steps.map(\.command), within: settings.options.connectTimeout, mailbox), mailbox)
            try loadScripts(&link, mailbox)
            mailbox.tlsMinorVersion.store(link.wire.tlsMinorVersion, ordering: .relaxed)
            settings.watch?.follow(mailbox, at: address)
            return link
        } catch {
            settings.watch?.leave(mailbox)
            if case .sentinels = settings.url.servers { throw error.at("the primary at \(address)") }
            throw error
        }
    }

    /// Loads the scripts that the server lacks: the connections of a fleet all come at once after an outage, and a load
    /// compiles. It comes after the sign-in, because a server hangs up on long commands of a client that has not signed
    /// in, and does not say why.
    private func loadScripts(_ link: inout RedisLink, _ mailbox: Mailbox) throws(LinkFailure) {
        guard !settings.scripts.isEmpty else { return }
        let timeout = settings.options.connectTimeout
        let exist = RedisCommand("SCRIPT", ["EXISTS"] + settings.scripts.map { .string($0.digest) })
        let known = try link.exchange([exist], within: timeout, mailbox)
        // A user may lack the right to ask.
        let flags = (try? known[0].array().map { try $0.integer() }) ?? []
        let missing = settings.scripts.indices.filter { flags.count != settings.scripts.count || flags[$0] != 1 }
        guard !missing.isEmpty else { return }
        _ = try link.exchange(missing.map { settings.scripts[$0].loadCommand }, within: timeout, mailbox)
    }

    private func link(to address: RedisAddress, _ mailbox: Mailbox) throws(LinkFailure) -> RedisLink {
        do throws(LinkFailure) { return try RedisLink(address, settings, mailbox) } catch {
            // The sentinels answer, so they will name another server.
            guard case .sentinels = settings.url.servers, case .broken(let why) = error else { throw error }
            throw .refused(.noPrimary("the primary at \(address): \(why)"))
        }
    }

    private func judge(_ replies: [RedisReply], _ mailbox: Mailbox) throws(LinkFailure) {
        for (reply, (_, step)) in zip(replies, steps) {
            // Without a password nothing else says that there must be one.
            if case .server("NOAUTH", _)? = reply.error, let error = reply.error { throw .refused(error) }
            switch step {
            case .mustSucceed: if let error = reply.error { throw .refused(error) }
            case .clientID: mailbox.clientID.store((try? reply.integer()) ?? 0, ordering: .relaxed)
            case .primary:
                // If the user may not ask for the role, a READONLY reply shows it later.
                if let role = try? reply.array().first?.string(), role != "master" {
                    guard case .sentinels = settings.url.servers else {
                        throw .refused(RedisError(reply: "READONLY the server is a replica"))
                    }
                    throw .refused(.noPrimary("the server that the sentinels name is a replica"))
                }
            case .mayFail: break
            }
        }
    }
}
