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
                var arrived: Int16 = 0
                if !hasBuffered { arrived = try mailbox.wait(for: descriptor, events, until: deadline) }
                guard isReadable(after: arrived), try receive() else { continue }
            } catch {
                throw lastWords(error)
            }
            guard case .complete(let arena) = try readReplies() else { continue }
            return arena.replies(commands.count)
        }
    }

    /// What the server said before it hung up, if it did, tells more than that it hung up.
    private func lastWords(_ failure: LinkFailure) -> LinkFailure {
        guard case .broken(let why) = failure else { return failure }
        do throws(LinkFailure) {
            _ = try receive()
        } catch {
            // Under TLS 1.3 a client's certificate is judged when the client is writing already.
            if case .insecure = error { return error }
        }
        // A server that is full, or protected, says so and hangs up, perhaps before it was spoken to.
        _ = try? readReplies()
        if let words = errorSoFar { return .broken("\(why), saying: \(words)") }
        guard hasEndedSilently else { return failure }
        return .broken("\(why) before it said a word: with TLS on this port, redis.url is rediss://")
    }
}
