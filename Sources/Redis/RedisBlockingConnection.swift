public import Logging
internal import Synchronization

/// A connection of its own for commands that wait at the server, such as XREADGROUP … BLOCK.
///
/// Commands go out one after the other and are answered in that order; a second caller waits for the first one's reply.
/// Scripts are not loaded here.
public final class RedisBlockingConnection: Sendable {
    private struct State {
        /// Commands begun, and ended.
        var begun = 0
        var ended = 0
        /// An interrupt came when nothing was there to be interrupted: the next command returns at once.
        var isInterrupted = false
    }

    private let mailbox = Mailbox()
    private let state = Mutex(State())
    private let url: RedisURL
    private let options: RedisOptions
    private let logger: Logger

    /// Connects when the first command comes.
    public init(url: RedisURL, options: RedisOptions = RedisOptions(), logger: Logger) {
        self.url = url
        self.options = options
        self.logger = logger
        ConnectionThread.start(
            mailbox, ConnectionSettings(url: url, options: options, threadName: "redis-blocking", logger: logger))
    }

    deinit { mailbox.close() }

    /// One command; an error reply is thrown.
    /// - Parameter blockingFor: how long the command itself asks the server to wait; `commandTimeout` is added to it.
    ///   A command that blocks for ever (BLOCK 0) has no place here: a silent server could not be told from a dead one.
    /// - Returns: the reply, nil when the server's wait ended without one or `interrupt` was called.
    public func send(_ command: RedisCommand, blockingFor: Duration) async throws(RedisError) -> RedisReply {
        let mayGo = state.withLock { state in
            guard !state.isInterrupted else {
                state.isInterrupted = false
                return false
            }
            state.begun += 1
            return true
        }
        guard mayGo else { return .null }
        defer { state.withLock { $0.ended += 1 } }
        let arena = try await mailbox.exchange(command.encoded, replies: 1, blocking: blockingFor)
        let reply = RedisReply(arena, 0)
        if let error = reply.error { throw error }
        return reply
    }

    /// Wakes the command that waits, or the next one if none does: it returns nil, as if its time were up. By
    /// CLIENT UNBLOCK on a short-lived second connection, so that no entry the server has handed out is lost on the way.
    ///
    /// Returns when the command is awake. Where the server does not let us (no right to CLIENT UNBLOCK, not reachable),
    /// logs a warning and leaves the command to its own time limit.
    public func interrupt() async {
        let target: Int? = state.withLock { state in
            guard state.ended < state.begun else {
                state.isInterrupted = true
                return nil
            }
            return state.begun
        }
        guard let target else { return }
        let control = RedisClient(url: url, connections: 1, options: options, logger: logger)
        // The command may be on its way to the server still, which then has nothing to wake yet: ask again.
        var pause = Duration.milliseconds(1)
        while state.withLock({ $0.ended }) < target {
            let id = mailbox.clientID.load(ordering: .relaxed)
            if id != 0 {
                do throws(RedisError) {
                    if try await control.send(RedisCommand("CLIENT", ["UNBLOCK", .int(id)])).integer() == 1 { break }
                } catch {
                    logger.warning("cannot interrupt a blocked read", metadata: ["error": "\(error)"])
                    break
                }
            }
            // A task of its own, because a cancelled caller (a drain, most likely) could not sleep.
            await Task.detached { [pause] in try? await Task.sleep(for: pause) }.value
            pause = min(pause * 2, .milliseconds(50))
        }
        await control.close()
    }

    /// Fails what waits: with `lost` if it was written, else with `closed`. Ends the thread. Repeatable.
    public func close() { mailbox.close() }
}

extension RedisReply {
    /// What Redis answers when there is nothing.
    static let null = RedisReply(ReplyArena(bytes: [], nodes: [ReplyNode(kind: .null)]), 0)
}
