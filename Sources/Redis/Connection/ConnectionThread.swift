internal import Glibc
internal import Logging
internal import Synchronization
internal import Threads

/// The life of one connection: a named OS thread that owns the link and all commands on it.
///
/// The thread connects when the first batch comes. It takes all waiting batches, writes them, and reads the replies in
/// order. So callers share round trips.
///
/// When the link breaks, written batches fail as `.lost`, and the others go to a new link. When no link can be made,
/// all waiting batches fail as `.unreachable`. The thread retries with backoff until it has one or the mailbox closes.
struct ConnectionThread: ~Copyable {
    private struct InFlight {
        var batch: Batch
        /// The offset of its first byte in the link's stream.
        var start: Int
    }

    private let mailbox: Mailbox
    private let settings: ConnectionSettings
    private let clock = ContinuousClock()
    private var link: RedisLink?
    private var waiting: [Batch] = []
    /// Oldest first, beginning at `head`.
    private var inFlight: [InFlight] = []
    private var head = 0
    private var backoff = ReconnectDelay()
    /// The time of the server's last reply, or the time at which the current reply became due.
    private var lastProgress = ContinuousClock.now

    static func start(_ mailbox: Mailbox, _ settings: ConnectionSettings) {
        let hasStarted =
            mailbox.wakeUp != nil
            && NamedThread.start(settings.threadName) {
                var connection = ConnectionThread(mailbox: mailbox, settings: settings)
                connection.run()
            }
        guard !hasStarted else { return }
        settings.logger.critical("no thread or no descriptor for a Redis connection")
        mailbox.close()
        mailbox.end()
    }

    private var isReplyDue: Bool { head < inFlight.count }

    private mutating func run() {
        while true {
            let taken = mailbox.take()
            waiting += taken.batches
            if taken.isClosing { return finish() }
            if link == nil {
                if waiting.isEmpty, backoff.failures == 0 {
                    _ = mailbox.wait(timeout: nil)
                } else if let delay = backoff.remaining(now: monotonicMilliseconds()) {
                    _ = mailbox.wait(timeout: delay)
                } else {
                    connect()
                }
                continue
            }
            do throws(LinkFailure) {
                try checkRole()
                try turn()
            } catch { drop(error) }
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
        try write()
        var arrived: Int16 = 0
        if link?.wire.hasBuffered != true {
            let timeout = isReplyDue ? clock.now.duration(to: deadline) : nil
            arrived = mailbox.wait(for: link?.wire.descriptor ?? -1, link?.events ?? 0, timeout: timeout)
        }
        if link?.wire.isReadable(after: arrived) == true, try link?.receive() == true {
            try read()
        } else if isReplyDue, clock.now >= deadline {
            throw .broken("no reply within \(settings.options.commandTimeout + inFlight[head].batch.blocking)")
        }
    }

    private var deadline: ContinuousClock.Instant {
        lastProgress + settings.options.commandTimeout + inFlight[head].batch.blocking
    }

    private mutating func write() throws(LinkFailure) {
        for batch in waiting {
            inFlight.append(InFlight(batch: batch, start: link?.appendedTotal ?? 0))
            link?.append(batch.bytes)
            if inFlight.count == head + 1 { beginHead() }
        }
        waiting.removeAll(keepingCapacity: waiting.capacity < 1_024)
        try link?.flush()
    }

    private mutating func beginHead() {
        lastProgress = clock.now
        link?.expect(replies: inFlight[head].batch.replies)
    }

    private mutating func read() throws(LinkFailure) {
        while isReplyDue {
            switch try link?.readReplies() {
            case .complete(let arena):
                mailbox.resume(inFlight[head].batch, .success(arena))
                head += 1
                // After a failover the old primary keeps its connections, although the name now means another server.
                if arena.saysReadOnly { throw .broken("the server has become a replica") }
                if isReplyDue { beginHead() }
            case .needsMore(let count):
                if count > 0 { lastProgress = clock.now }
                compact()
                return
            case nil: return
            }
        }
        compact()
        if link?.hasUnread == true { throw .protocolViolation("the server sent a reply that nobody asked for") }
    }

    private mutating func compact() {
        if head == inFlight.count {
            inFlight.removeAll(keepingCapacity: inFlight.capacity < 1_024)
            head = 0
        } else if head > 512 {
            inFlight.removeFirst(head)
            head = 0
        }
    }

    private mutating func connect() {
        do throws(LinkFailure) {
            link = try Greeting(settings).connect(mailbox)
            if backoff.failures > 0 { settings.logger.notice("Redis is back", metadata: ["url": "\(settings.url)"]) }
            backoff.succeeded()
            settings.metrics.connection(.opened)
            mailbox.isFailing.store(false, ordering: .relaxed)
            mailbox.isConnected.store(true, ordering: .relaxed)
        } catch {
            // The client is closing. `run` ends then and fails all waiting callers as closed.
            guard !mailbox.isClosing else { return }
            if backoff.failures == 0 {
                settings.logger.warning(
                    "cannot connect to Redis", metadata: ["url": "\(settings.url)", "error": "\(error.why)"])
            }
            backoff.failed(now: monotonicMilliseconds(), fraction: .random(in: 0...1))
            settings.metrics.connection(.failed)
            mailbox.isFailing.store(true, ordering: .relaxed)
            var outcome = RedisError.unreachable("\(settings.url): \(error.why)")
            if case .refused(let refusal) = error { outcome = refusal }
            if case .insecure(let why, let remedy) = error {
                outcome = .insecure("\(settings.url): \(why)", remedy: remedy)
            }
            for batch in waiting { mailbox.resume(batch, .failure(outcome)) }
            waiting = []
        }
    }

    /// Drops a broken link. Each batch in flight either fails, or waits for the next link if none of it was written.
    private mutating func drop(_ failure: LinkFailure) {
        let writtenTotal = link?.writtenTotal ?? 0
        link = nil
        settings.watch?.leave(mailbox)
        settings.metrics.connection(.dropped)
        mailbox.clientID.store(0, ordering: .relaxed)
        mailbox.isConnected.store(false, ordering: .relaxed)
        var carried: [Batch] = []
        for (position, item) in inFlight[head...].enumerated() {
            if item.start >= writtenTotal {
                if item.batch.isCarriedOver {
                    mailbox.resume(item.batch, .failure(.unreachable("\(settings.url): \(failure.why)")))
                } else {
                    carried.append(item.batch)
                    carried[carried.count - 1].isCarriedOver = true
                }
            } else if position == 0, case .protocolViolation(let text) = failure {
                mailbox.resume(item.batch, .failure(.unexpectedReply(text)))
            } else {
                mailbox.resume(item.batch, .failure(.lost(failure.why)))
            }
        }
        settings.logger.notice(
            "Redis connection dropped",
            metadata: ["url": "\(settings.url)", "error": "\(failure.why)", "unanswered": "\(inFlight.count - head)"])
        inFlight = []
        head = 0
        waiting = carried + waiting
    }

    private mutating func finish() {
        for item in inFlight[head...] {
            let error: RedisError = item.start < (link?.writtenTotal ?? 0) ? .lost("the client was closed") : .closed
            mailbox.resume(item.batch, .failure(error))
        }
        for batch in waiting { mailbox.resume(batch, .failure(.closed)) }
        link = nil
        settings.watch?.leave(mailbox)
        mailbox.end()
    }
}
