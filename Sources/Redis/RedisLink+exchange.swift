internal import Glibc

extension RedisLink {
    /// Commands and their replies before any caller's: blocks the connection's thread for at most `timeout`, and ends at once
    /// when the mailbox closes.
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
                var descriptors = [
                    pollfd(fd: descriptor, events: Int16(hasUnwritten ? POLLIN | POLLOUT : POLLIN), revents: 0),
                    pollfd(fd: mailbox.wakeUp, events: Int16(POLLIN), revents: 0),
                ]
                wait(for: &descriptors, timeout: clock.now.duration(to: deadline))
                if descriptors[1].revents != 0 {
                    mailbox.clearSignal()
                    if mailbox.isClosing { throw .broken("the client was closed") }
                }
                guard descriptors[0].revents & ~Int16(POLLOUT) != 0, try receive() else { continue }
            } catch {
                // A server that is full, or protected, says so and hangs up, perhaps before it was spoken to.
                _ = try? receive()
                _ = try? readReplies()
                if let words = errorSoFar { throw .broken("\(error.why), saying: \(words)") }
                throw error
            }
            guard case .complete(let arena) = try readReplies() else { continue }
            return arena.replies(commands.count)
        }
    }
}
