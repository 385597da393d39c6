internal import Glibc

extension RedisLink {
    /// Sends commands before any caller's, and returns their replies.
    /// Blocks the connection's thread for at most `timeout`. Ends at once when the mailbox closes.
    mutating func exchange(
        _ commands: [RedisCommand], within timeout: Duration, _ mailbox: Mailbox
    ) throws(LinkFailure) -> [RedisReply] {
        append(commands.flatMap(\.encoded))
        expect(replies: commands.count)
        let clock = ContinuousClock()
        let deadline = clock.now + timeout
        while true {
            do throws(LinkFailure) {
                try flush()
                guard clock.now < deadline else { throw .broken("connected, but no greeting within \(timeout)") }
                var arrived: Int16 = 0
                if !wire.hasBuffered { arrived = try mailbox.wait(for: wire.descriptor, events, until: deadline) }
                guard wire.isReadable(after: arrived), try receive() else { continue }
            } catch { throw withLastMessage(error) }
            guard case .complete(let arena) = try readReplies() else { continue }
            return arena.replies(commands.count)
        }
    }

    /// Improves the failure with the server's last message, if it sent one before it closed the connection.
    private func withLastMessage(_ failure: LinkFailure) -> LinkFailure {
        guard case .broken(let why) = failure else { return failure }
        do throws(LinkFailure) { _ = try receive() } catch {
            // Under TLS 1.3 the server checks a client's certificate when the client is already writing.
            if case .insecure = error { return error }
        }
        // A server that is full or in protected mode sends an error and closes, perhaps before any command.
        _ = try? readReplies()
        if let message = errorSoFar { return .broken("\(why), saying: \(message)") }
        guard wire.hasEndedSilently else { return failure }
        return .broken("\(why) before it sent anything: with TLS on this port, redis.url is rediss://")
    }
}
