package import Redis

/// The requests of the store. Each turns Redis's errors into the store's once.
extension RedisClient {
    @discardableResult
    package func run(_ command: RedisCommand) async throws(StoreError) -> Reply { try await run([command])[0] }

    /// Sends one command, and leaves an error reply to the caller.
    package func reply(_ command: RedisCommand) async throws(StoreError) -> Reply { try await replies([command])[0] }

    @discardableResult
    package func run(_ name: String, _ key: RedisKey, _ arguments: RedisArgument...) async throws(StoreError) -> Reply {
        try await run(RedisCommand(name, key, arguments))
    }

    @discardableResult
    package func run(_ name: String, _ key: RedisKey, _ arguments: [RedisArgument]) async throws(StoreError) -> Reply {
        try await run(RedisCommand(name, key, arguments))
    }

    @discardableResult
    package func run(
        _ script: RedisScript, keys: KeyValuePairs<String, RedisKey>,
        _ arguments: KeyValuePairs<String, RedisArgument> = [:], rest: [RedisArgument] = []
    ) async throws(StoreError) -> Reply {
        try await run(RedisCommand(script, keys: keys, arguments, rest: rest))
    }

    package func hash(_ key: RedisKey) async throws(StoreError) -> StoredHash {
        try StoredHash(await run("HGETALL", key))
    }

    /// Sends a pipeline as `replies` does, and throws its first error reply.
    @discardableResult
    package func run(_ commands: [RedisCommand], inStepsAt boundaries: [Int] = []) async throws(StoreError) -> [Reply] {
        try await replies(commands, inStepsAt: boundaries).checked()
    }

    /// Sends a pipeline, and leaves error replies to the caller. Boundaries make steps that run one after the other.
    package func replies(_ commands: [RedisCommand], inStepsAt boundaries: [Int] = []) async throws(StoreError)
        -> [Reply]
    {
        try await noted(commands) { () async throws(RedisError) in
            try await pipeline(commands, inStepsAt: boundaries)
        }
    }

    /// Sends commands, and notes what became of them for the call.
    private func noted(
        _ commands: [RedisCommand], _ send: () async throws(RedisError) -> [RedisReply]
    ) async throws(StoreError) -> [Reply] {
        let outcome: Result<[RedisReply], RedisError>
        do throws(RedisError) { outcome = .success(try await send()) } catch { outcome = .failure(error) }
        CallChanges.note(commands, outcome)
        return try translatingErrors { () throws(RedisError) in try outcome.get() }.map(Reply.init)
    }

    /// Sends commands of which each stands for itself. A node of a cluster that is away fails only its own.
    /// - Returns: nil for a command without a reply, or with an error reply.
    /// - Throws: the first error, if no command has a reply.
    package func apart(_ commands: [RedisCommand]) async throws(StoreError) -> [Reply?] {
        var failure: RedisError?
        let replies = await pipeline(eachOf: commands).map { result -> Reply? in
            switch result {
            case .success(let reply) where reply.error == nil: return Reply(reply)
            case .success(let reply): failure = failure ?? reply.error
            case .failure(let error): failure = failure ?? error
            }
            return nil
        }
        if let failure, replies.allSatisfy({ $0 == nil }) { throw .redis(failure) }
        return replies
    }

    /// Reads or writes at one moment: a transaction on one slot. Throws its first error reply.
    package func atOnce(_ commands: [RedisCommand]) async throws(StoreError) -> [Reply] {
        let replies = try await noted(commands) { () async throws(RedisError) in try await transaction(commands) }
        try StoreError.check(replies.count, of: "a transaction", is: commands.count)
        return try replies.checked()
    }

    /// Removes at most `limit` members whose time is over, because a set may have grown for weeks. Returns how many.
    package func removeOver(_ set: RedisKey, upTo time: Int64, limit: Int) async throws(StoreError) -> Int {
        let reply = try await run("ZRANGEBYSCORE", set, "-inf", .int(time), "LIMIT", "0", .int(limit))
        let members = try reply.byteStrings()
        if !members.isEmpty { try await run("ZREM", set, members.map { .bytes($0) }) }
        return members.count
    }

    /// Gives a hash to `body` in parts of about `count` entries. Removes entries that `read` cannot read.
    package func eachPart<Entry>(
        ofHash key: RedisKey, count: Int, read: (ArraySlice<UInt8>, ArraySlice<UInt8>) -> Entry?,
        _ body: ([Entry]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        try await eachPart("HSCAN", key, "COUNT", .int(count)) { part throws(StoreError) in
            var entries: [Entry] = []
            var unreadable: [RedisArgument] = []
            for (field, value) in try part.pairs() {
                let field = try field.bytes()
                let entry = read(field, try value.bytes())
                if let entry { entries.append(entry) } else { unreadable.append(.bytes(Array(field))) }
            }
            if !unreadable.isEmpty { try await run("HDEL", key, unreadable) }
            if !entries.isEmpty { try await body(entries) }
        }
    }

    /// Gives the items of a set or hash to `body` in parts.
    /// - Parameter command: SSCAN or HSCAN
    package func eachPart(
        _ command: String, _ key: RedisKey, _ options: RedisArgument...,
        body: (Reply) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var (cursor, items): (String, Reply)
        cursor = "0"
        repeat {
            (cursor, items) = try await run(command, key, [.string(cursor)] + options)
                .values(.string("cursor"), .any("items"))
            try await body(items)
        } while cursor != "0"
    }
}

extension [Reply] {
    fileprivate func checked() throws(StoreError) -> [Reply] {
        for reply in self { if let error = reply.error { throw .redis(error) } }
        return self
    }
}

package func translatingErrors<T>(_ body: () throws(RedisError) -> T) throws(StoreError) -> T {
    do throws(RedisError) { return try body() } catch { throw .redis(error) }
}

extension Sequence {
    /// Does something for each element. One that fails does not hold up the others.
    /// - Throws: the first error, at the end.
    package func eachApart(_ body: (Element) async throws(StoreError) -> Void) async throws(StoreError) {
        var failure: StoreError?
        for element in self {
            do throws(StoreError) { try await body(element) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }
}
