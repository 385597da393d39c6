internal import Synchronization

/// One server, and the few connections to it that all callers share. No call blocks the caller's thread.
/// A caller that waits for a reply keeps the node alive. When nothing refers to it any more, its connections close.
final class RedisNode: RedisDeployment {
    private let mailboxes: [Mailbox]
    private let turn = Atomic<Int>(0)

    /// Makes a node. It connects when the first command comes. Only the names of the connections' threads differ.
    init(_ settings: ConnectionSettings, connections: Int) {
        mailboxes = (0..<max(1, connections)).map { index in
            var settings = settings
            let mailbox = Mailbox(settings.metrics, measures: settings.measuresRoundTrips)
            if connections > 1 { settings.threadName += "-\(index)" }
            ConnectionThread.start(mailbox, settings)
            return mailbox
        }
    }

    deinit { close() }

    /// Sends all commands in one round trip on one connection. An error reply keeps its position.
    ///
    /// If the server has lost a script (SCRIPT FLUSH, restart), it is loaded and its command repeated after the rest of
    /// its step. Later steps were already executed before it, so all their commands are repeated after it.
    func pipeline(
        _ commands: [RedisCommand], inStepsAt boundaries: [Int] = []
    ) async throws(RedisError) -> [RedisReply] {
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
        guard let first = forgotten.first else { return replies }
        let laterSteps = (boundaries.first { $0 > first } ?? commands.count)..<commands.count
        let indices = forgotten.filter { !laterSteps.contains($0) } + laterSteps
        // Load the script each time, because another connection may have flushed the scripts again.
        let batch = indices.flatMap { [commands[$0].script?.script.loadCommand, commands[$0]].compactMap { $0 } }
        bytes = batch.flatMap(\.encoded)
        var repeated: ArraySlice<RedisReply>
        do throws(RedisError) {
            repeated = try await leastLoaded.exchange(bytes, replies: batch.count).replies(batch.count)[...]
        } catch {
            // The first round trip has executed the other commands.
            throw commands.count > 1 ? .lost("a part of a pipeline: \(error)") : error
        }
        for index in indices {
            // If a script does not compile, the reply to SCRIPT LOAD says so.
            let loading = commands[index].script == nil ? nil : repeated.removeFirst()
            let reply = repeated.removeFirst()
            replies[index] = loading?.error == nil ? reply : loading ?? reply
        }
        return replies
    }

    func pipeline(_ commands: [RedisCommand], eachNodeThen last: RedisCommand) async throws(RedisError) -> [Outcome] {
        let replies = try await pipeline(commands + [last])
        return replies.dropLast().map { .success(($0, replies[commands.count])) }
    }

    func pipeline(eachOf commands: [RedisCommand]) async throws(RedisError) -> [Result<RedisReply, RedisError>] {
        try await pipeline(commands).map { .success($0) }
    }

    func isAway(_ key: RedisKey) -> Bool { false }

    /// Whether the last attempt to connect failed, and no connection is left. The threads go on trying by themselves.
    var isAway: Bool {
        mailboxes.contains { $0.isFailing.load(ordering: .relaxed) }
            && mailboxes.allSatisfy { !$0.isConnected.load(ordering: .relaxed) }
    }

    func onEachPrimary(_ commands: [RedisCommand]) async throws(RedisError) -> [NodeReplies] {
        [(nil, try await pipeline(commands))]
    }

    /// Sends all commands to a node to which their slot is being moved.
    ///
    /// This node accepts only commands that follow ASKING on the same connection. Scripts are sent with their source.
    func pipelineAsking(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        let bytes = commands.flatMap { RedisCommand.asking + $0.encodedWithSource }
        let replies = try await leastLoaded.exchange(bytes, replies: 2 * commands.count).replies(2 * commands.count)
        return commands.indices.map { replies[2 * $0 + 1] }
    }

    func transaction(_ commands: [RedisCommand]) async throws(RedisError) -> [RedisReply] {
        try await transaction(commands, asking: false)
    }

    /// Sends MULTI, the commands and EXEC in one round trip. If the error is `server`, nothing was executed.
    func transaction(_ commands: [RedisCommand], asking: Bool) async throws(RedisError) -> [RedisReply] {
        guard !commands.isEmpty else { return [] }
        var bytes = (asking ? RedisCommand.asking : []) + RedisCommand("MULTI").encoded
        for command in commands { bytes.append(contentsOf: command.encodedWithSource) }
        bytes.append(contentsOf: RedisCommand("EXEC").encoded)
        let count = commands.count + (asking ? 3 : 2)
        let replies = try await leastLoaded.exchange(bytes, replies: count).replies(count)
        for reply in replies { if let error = reply.error { throw error } }
        let results = replies[count - 1]
        guard !results.isNil else { throw .unexpectedReply("EXEC gave up the transaction") }
        let elements = try results.array()
        guard elements.count == commands.count else {
            throw .unexpectedReply("\(elements.count) results for a transaction of \(commands.count)")
        }
        return elements
    }

    /// Sends one command for which the server may be silent for up to `blocking`. `asking` puts ASKING before it.
    func send(
        _ command: RedisCommand, blockingFor blocking: Duration, asking: Bool = false
    ) async throws(RedisError) -> RedisReply {
        let bytes = asking ? RedisCommand.asking + command.encoded : command.encoded
        let arena = try await mailboxes[0].exchange(bytes, replies: asking ? 2 : 1, blocking: blocking)
        return RedisReply(arena, asking ? 1 : 0)
    }

    /// The server's id of the first connection. 0 without one.
    var clientID: Int { mailboxes[0].clientID.load(ordering: .relaxed) }

    var tlsMinorVersion: Int? {
        mailboxes.lazy.map { Int($0.tlsMinorVersion.load(ordering: .relaxed)) }.first { $0 > 0 }
    }

    /// Lets the connections' threads end. Queued commands fail as `closed`, written ones as `lost`. May be repeated.
    func close() { for mailbox in mailboxes { mailbox.close() } }

    /// Closes, and waits until the threads have ended.
    func end() async {
        close()
        for mailbox in mailboxes { await mailbox.waitUntilEnded() }
    }

    /// The connection with the smallest load. A failing connection is used only if all fail, and equals take turns.
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

extension RedisCommand { fileprivate static let asking = RedisCommand("ASKING").encoded }

extension Mailbox {
    fileprivate var burden: Int { load.load(ordering: .relaxed) + (isFailing.load(ordering: .relaxed) ? 1 << 40 : 0) }
}

extension RedisReply {
    var isMissingScript: Bool { if case .server("NOSCRIPT", _) = error { true } else { false } }
}
