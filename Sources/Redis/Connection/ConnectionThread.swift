internal import Glibc
internal import Logging
internal import Synchronization
internal import Threads

/// The thread of one connection: a named OS thread that owns the link and all commands on it.
///
/// It takes all waiting batches, writes them, and reads the replies in order. So callers share round trips.
/// `ConnectionMachine` decides; this thread has the link, the clocks and the callers' continuations.
struct ConnectionThread: ~Copyable {
    private let mailbox: Mailbox
    private let settings: ConnectionSettings
    private let clock = ContinuousClock()
    private var link: RedisLink?
    private var machine: ConnectionMachine<Mailbox.Caller>

    static func start(_ mailbox: Mailbox, _ settings: ConnectionSettings) {
        let hasStarted =
            mailbox.wakeUp != nil
            && NamedThread.start(settings.threadName) {
                var connection = ConnectionThread(mailbox, settings)
                connection.run()
            }
        guard !hasStarted else { return }
        settings.logger.critical("no thread or no descriptor for a Redis connection")
        mailbox.close()
        mailbox.end()
    }

    private init(_ mailbox: Mailbox, _ settings: ConnectionSettings) {
        (self.mailbox, self.settings) = (mailbox, settings)
        machine = ConnectionMachine(
            url: "\(settings.url)", commandTimeout: settings.options.commandTimeout,
            sharesTurns: settings.options.sharesTurns)
    }

    private mutating func run() {
        while true {
            let taken = mailbox.take(sharesTurns: settings.options.sharesTurns, isOwed: machine.unanswered > 0)
            machine.take(taken.batches, isClosing: taken.isClosing)
            switch machine.next(now: monotonicMilliseconds()) {
            case .sleep(let pause): _ = mailbox.wait(timeout: pause)
            case .connect: connect()
            case .exchange:
                do throws(LinkFailure) {
                    try checkRole()
                    try turn()
                } catch { drop(error) }
            case .end: return finish()
            }
        }
    }

    /// Throws if this server is no primary any more. Its answers from now on may be lost, or old.
    private mutating func checkRole() throws(LinkFailure) {
        guard let watch = settings.watch, mailbox.hasNews.exchange(false, ordering: .acquiring),
            let address = link?.address, let objection = watch.objection(to: address)
        else { return }
        throw .broken("left \(address): \(objection)")
    }

    /// Writes, waits and reads once.
    private mutating func turn() throws(LinkFailure) {
        let (batches, expecting) = machine.write(now: clock.now)
        for batch in batches { link?.append(batch.bytes) }
        if let expecting { link?.expect(replies: expecting) }
        try link?.flush()
        var arrived: Int16 = 0
        if link?.wire.hasBuffered != true {
            let timeout = machine.deadline.map { clock.now.duration(to: $0) }
            arrived = mailbox.wait(for: link?.wire.descriptor ?? -1, link?.events ?? 0, timeout: timeout)
        }
        if link?.wire.isReadable(after: arrived) == true, try link?.receive() == true {
            try read()
        } else {
            try machine.waited(now: clock.now)
        }
    }

    private mutating func read() throws(LinkFailure) {
        while machine.unanswered > 0 {
            switch try link?.readReplies() {
            case .complete(let arena):
                let (batch, expecting) = machine.answered(now: clock.now)
                mailbox.resume(batch, .success(arena))
                // After a failover the old primary keeps its connections, although the name now means another server.
                if arena.saysReadOnly { throw .broken("the server has become a replica") }
                if let expecting { link?.expect(replies: expecting) }
            case .needsMore(let count): return machine.read(hasProgress: count > 0, now: clock.now)
            case nil: return
            }
        }
        machine.read(hasProgress: false, now: clock.now)
        if link?.hasUnread == true { throw .protocolViolation("the server sent a reply that nobody asked for") }
    }

    private mutating func connect() {
        do throws(LinkFailure) {
            link = try Greeting(settings).connect(mailbox)
            if machine.connected(at: link?.appendedTotal ?? 0) {
                settings.logger.notice("Redis is back", metadata: ["url": "\(settings.url)"])
            }
            settings.metrics.connection(.opened)
            mailbox.isFailing.store(false, ordering: .relaxed)
            mailbox.isConnected.store(true, ordering: .relaxed)
        } catch {
            // The client is closing. `run` ends then and fails all waiting callers as closed.
            guard !mailbox.isClosing else { return }
            let (refusals, isFirst) = machine.failed(
                error, now: monotonicMilliseconds(), fraction: .random(in: 0...1))
            if isFirst {
                settings.logger.warning(
                    "cannot connect to Redis", metadata: ["url": "\(settings.url)", "error": "\(error.why)"])
            }
            settings.metrics.connection(.failed)
            mailbox.isFailing.store(true, ordering: .relaxed)
            refuse(refusals)
        }
    }

    /// Drops a broken link.
    private mutating func drop(_ failure: LinkFailure) {
        let (written, unanswered) = (link?.writtenTotal ?? 0, machine.unanswered)
        link = nil
        settings.watch?.leave(mailbox)
        settings.metrics.connection(.dropped)
        mailbox.clientID.store(0, ordering: .relaxed)
        mailbox.isConnected.store(false, ordering: .relaxed)
        refuse(machine.broke(failure, written: written))
        settings.logger.notice(
            "Redis connection dropped",
            metadata: ["url": "\(settings.url)", "error": "\(failure.why)", "unanswered": "\(unanswered)"])
    }

    private mutating func finish() {
        refuse(machine.end(written: link?.writtenTotal ?? 0))
        link = nil
        settings.watch?.leave(mailbox)
        mailbox.end()
    }

    private func refuse(_ refusals: [ConnectionMachine<Mailbox.Caller>.Refusal]) {
        for (batch, error) in refusals { mailbox.resume(batch, .failure(error)) }
    }
}
