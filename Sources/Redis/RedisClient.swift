public import Logging
internal import Synchronization

/// A few connections to one Redis that all callers share. Nothing here blocks the caller's thread.
///
/// Since connections are shared, commands that change the connection's state (SELECT, WATCH, SUBSCRIBE, MULTI by hand)
/// or block it (BLPOP, XREADGROUP … BLOCK) have no place here: `transaction` and `RedisBlockingConnection` exist for that.
public final class RedisClient: Sendable {
    private let mailboxes: [Mailbox]
    private let url: RedisURL
    private let options: RedisOptions
    private let logger: Logger
    private let turn = Atomic<Int>(0)

    /// Connects when the first command comes. `scripts` are loaded on each new connection, so that their first call is
    /// no extra round trip.
    public init(
        url: RedisURL, connections: Int = 2, scripts: [RedisScript] = [], options: RedisOptions = RedisOptions(),
        logger: Logger
    ) {
        self.url = url
        self.options = options
        self.logger = logger
        mailboxes = (0..<max(1, connections)).map { index in
            let mailbox = Mailbox()
            ConnectionThread.start(
                mailbox,
                ConnectionSettings(
                    url: url, options: options, scripts: scripts, threadName: "redis-\(index)", logger: logger))
            return mailbox
        }
    }

    deinit { for mailbox in mailboxes { mailbox.close() } }

    /// A client of its own to the same server, with one connection, for commands after which the server says nothing for up
    /// to `silence` (WAIT). Scripts are not loaded there.
    public func separate(silence: Duration) -> RedisClient {
        var options = options
        options.commandTimeout += silence
        return RedisClient(url: url, connections: 1, options: options, logger: logger)
    }

    /// A connection of its own to the same server, for commands that wait there.
    public func blockingConnection() -> RedisBlockingConnection {
        RedisBlockingConnection(url: url, options: options, logger: logger)
    }

    /// Such as `TLS 1.3`; nil without TLS, and before the first connection.
    public var encryption: String? {
        let minor = mailboxes.lazy.map { $0.tlsMinorVersion.load(ordering: .relaxed) }.first { $0 > 0 }
        return minor.map { "TLS 1.\($0)" }
    }

    /// All commands in one round trip on one connection; error replies stay in their place.
    ///
    /// A script that the server has lost (SCRIPT FLUSH, restart) is loaded and its command alone repeated, after the rest.
    public func pipeline(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        guard !commands.isEmpty else { return [] }
        var bytes: [UInt8] = []
        if commands.count == 1 {
            bytes = commands[0].encoded
        } else {
            bytes.reserveCapacity(commands.reduce(0) { $0 + $1.encoded.count })
            for command in commands { bytes.append(contentsOf: command.encoded) }
        }
        var replies = try await leastLoaded.exchange(bytes, replies: commands.count).replies(commands.count)
        let forgotten = commands.indices.filter { commands[$0].script != nil && replies[$0].isMissingScript }
        guard !forgotten.isEmpty else { return replies }
        bytes = forgotten.flatMap { index in
            (commands[index].script?.script.loadCommand.encoded ?? []) + commands[index].encoded
        }
        let repeated = try await leastLoaded.exchange(bytes, replies: 2 * forgotten.count).replies(2 * forgotten.count)
        for (position, index) in forgotten.enumerated() {
            // A script that does not compile says so in the reply to SCRIPT LOAD.
            replies[index] = repeated[2 * position].error == nil ? repeated[2 * position + 1] : repeated[2 * position]
        }
        return replies
    }

    /// One command; an error reply is thrown.
    @discardableResult
    public func send(_ command: RedisCommand) async throws(RedisError) -> RedisReply {
        let reply = try await pipeline([command])[0]
        if let error = reply.error { throw error }
        return reply
    }

    /// MULTI, the commands, EXEC in one round trip: an atomic view. All keys must share a hash tag.
    ///
    /// An error found before EXEC is thrown, and nothing was executed; one that a command meets inside EXEC stays in its
    /// place, since Redis executes the others all the same.
    public func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        guard !commands.isEmpty else { return [] }
        var bytes = RedisCommand("MULTI").encoded
        for command in commands { bytes.append(contentsOf: command.encodedWithSource) }
        bytes.append(contentsOf: RedisCommand("EXEC").encoded)
        let count = commands.count + 2
        let replies = try await leastLoaded.exchange(bytes, replies: count).replies(count)
        for reply in replies {
            if let error = reply.error { throw error }
        }
        let results = replies[count - 1]
        guard !results.isNil else { throw .unexpectedReply("EXEC gave up the transaction") }
        let elements = try results.array()
        guard elements.count == commands.count else {
            throw .unexpectedReply("\(elements.count) results for a transaction of \(commands.count)")
        }
        return elements
    }

    /// Fails what is queued with `closed` and what was written with `lost`, closes the connections and ends their threads.
    public func close() async {
        for mailbox in mailboxes { mailbox.close() }
        for mailbox in mailboxes { await mailbox.waitUntilEnded() }
    }

    /// Connections that fail are left alone as long as others do not; equals take turns.
    private var leastLoaded: Mailbox {
        guard mailboxes.count > 1 else { return mailboxes[0] }
        let start = turn.add(1, ordering: .relaxed).newValue
        var best = mailboxes[Int(UInt(bitPattern: start) % UInt(mailboxes.count))]
        var bestLoad = best.burden
        for mailbox in mailboxes where mailbox.burden < bestLoad {
            best = mailbox
            bestLoad = mailbox.burden
        }
        return best
    }
}

extension Mailbox {
    fileprivate var burden: Int {
        load.load(ordering: .relaxed) + (isFailing.load(ordering: .relaxed) ? 1 << 40 : 0)
    }
}

extension RedisReply {
    var isMissingScript: Bool {
        if case .server("NOSCRIPT", _) = error { true } else { false }
    }
}
