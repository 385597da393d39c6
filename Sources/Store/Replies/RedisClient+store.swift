import Redis

/// The requests of the store. Each turns Redis's errors into the store's once.
extension RedisClient {
    /// Sends one command and throws for an error reply.
    @discardableResult
    func run(_ command: RedisCommand) async throws(StoreError) -> Reply { try await run([command])[0] }

    @discardableResult
    func run(_ name: String, _ key: RedisKey, _ arguments: RedisArgument...) async throws(StoreError) -> Reply {
        try await run(RedisCommand(name, key, arguments))
    }

    @discardableResult
    func run(_ name: String, _ key: RedisKey, _ arguments: [RedisArgument]) async throws(StoreError) -> Reply {
        try await run(RedisCommand(name, key, arguments))
    }

    @discardableResult
    func run(
        _ script: RedisScript, keys: KeyValuePairs<String, RedisKey>,
        _ arguments: KeyValuePairs<String, RedisArgument> = [:], rest: [RedisArgument] = []
    ) async throws(StoreError) -> Reply {
        try await run(RedisCommand(script, keys: keys, arguments, rest: rest))
    }

    /// Sends a pipeline and throws its first error reply.
    @discardableResult
    func run(_ commands: [RedisCommand]) async throws(StoreError) -> [Reply] { try await replies(commands).checked() }

    /// Sends a pipeline in parts that run one after the other, even if they are on several slots.
    func run(_ commands: [RedisCommand], inStepsAt boundaries: [Int]) async throws(StoreError) -> [Reply] {
        try await replies(commands, inStepsAt: boundaries).checked()
    }

    /// Sends a pipeline. The caller looks at the error replies.
    func replies(_ commands: [RedisCommand]) async throws(StoreError) -> [Reply] {
        do throws(RedisError) { return try await pipeline(commands).map(Reply.init) } catch { throw .redis(error) }
    }

    func replies(_ commands: [RedisCommand], inStepsAt boundaries: [Int]) async throws(StoreError) -> [Reply] {
        do throws(RedisError) {
            return try await pipeline(commands, inStepsAt: boundaries).map(Reply.init)
        } catch {
            throw .redis(error)
        }
    }

    /// Reads at one moment: a transaction on one slot. Throws its first error reply.
    func atOnce(_ commands: [RedisCommand]) async throws(StoreError) -> [Reply] {
        let replies: [RedisReply]
        do throws(RedisError) { replies = try await transaction(commands) } catch { throw .redis(error) }
        guard replies.count == commands.count else { throw .unexpectedReply("a transaction of another length") }
        return try replies.map(Reply.init).checked()
    }
}

extension [Reply] {
    fileprivate func checked() throws(StoreError) -> [Reply] {
        for reply in self { if let error = reply.error { throw .redis(error) } }
        return self
    }
}

func translatingErrors<T>(_ body: () throws(RedisError) -> T) throws(StoreError) -> T {
    do throws(RedisError) { return try body() } catch { throw .redis(error) }
}
