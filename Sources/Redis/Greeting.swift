internal import Glibc
internal import Synchronization

/// What is said on a new connection before any caller's command: AUTH and SELECT, which must succeed; a name, the
/// connection's id and the scripts, which need not (a user may lack the right, a server may still be loading).
struct Greeting {
    private enum Step {
        case mustSucceed, mayFail, clientID
    }
    private var commands: [RedisCommand] = []
    private var steps: [Step] = []

    init(url: RedisURL, options: RedisOptions, scripts: [RedisScript]) {
        if let password = url.password {
            add(RedisCommand("AUTH", (url.user.map { [.string($0)] } ?? []) + [.string(password)]), .mustSucceed)
        }
        if url.database != 0 { add(RedisCommand("SELECT", [.int(url.database)]), .mustSucceed) }
        add(RedisCommand("CLIENT", ["SETNAME", .string(options.clientName)]), .mayFail)
        add(RedisCommand("CLIENT", ["ID"]), .clientID)
        for script in scripts { add(script.loadCommand, .mayFail) }
    }

    private mutating func add(_ command: RedisCommand, _ step: Step) {
        commands.append(command)
        steps.append(step)
    }

    /// Blocks the connection's thread for at most twice the connect timeout: to connect, and to be greeted back. The
    /// second half ends at once when the mailbox closes.
    func connect(_ settings: ConnectionSettings, _ mailbox: Mailbox) throws(LinkFailure) -> RedisLink {
        let timeout = settings.options.connectTimeout
        var link = try RedisLink(settings.url.endpoint, timeout: timeout, limits: settings.limits)
        link.append(commands.flatMap(\.encoded))
        link.expect(replies: commands.count)
        let clock = ContinuousClock()
        let deadline = clock.now + timeout
        while true {
            do throws(LinkFailure) {
                try link.flush()
                guard clock.now < deadline else { throw .broken("connected, but no greeting within \(timeout)") }
                var descriptors = [
                    pollfd(
                        fd: link.descriptor, events: Int16(link.hasUnwritten ? POLLIN | POLLOUT : POLLIN), revents: 0),
                    pollfd(fd: mailbox.wakeUp, events: Int16(POLLIN), revents: 0),
                ]
                wait(for: &descriptors, timeout: clock.now.duration(to: deadline))
                if descriptors[1].revents != 0 {
                    mailbox.clearSignal()
                    if mailbox.isClosing { throw .broken("the client was closed") }
                }
                guard descriptors[0].revents & ~Int16(POLLOUT) != 0, try link.receive() else { continue }
            } catch {
                // A server that is full, or protected, says so and hangs up, perhaps before it was spoken to.
                _ = try? link.receive()
                _ = try? link.readReplies()
                if let words = link.errorSoFar { throw .broken("\(error.why), saying: \(words)") }
                throw error
            }
            guard case .complete(let arena) = try link.readReplies() else { continue }
            try judge(arena.replies(commands.count), mailbox)
            return link
        }
    }

    private func judge(_ replies: [RedisReply], _ mailbox: Mailbox) throws(LinkFailure) {
        for (reply, step) in zip(replies, steps) {
            switch step {
            case .mustSucceed:
                if let error = reply.error { throw .refused(error) }
            case .clientID:
                mailbox.clientID.store((try? reply.integer()) ?? 0, ordering: .relaxed)
            case .mayFail: break
            }
        }
    }
}
