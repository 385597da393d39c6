import Redis

/// The format of everything that a deployment stores, as one number in Redis. It rises when an older version could
/// not read, or would misread, what this one writes. docs/upgrading.md says what a new number asks of an operator.
public enum StoredFormat {
    /// The newest format that this version reads and writes. It reads and writes those before it too, so that a
    /// deployment may keep its number during an upgrade. One without a number has format 1: 0.1.0 wrote none.
    public static let current = 2
    static let field = "format"
}

extension Store {
    /// Finds out whether this version may use what is stored, before a process does any work. It notes the format in a
    /// deployment that has none. A crash leaves nothing to correct.
    /// - Throws: `newerFormat` if only a newer version can read it.
    public func claimFormat() async throws(StoreError) {
        let replies = try await redis.replies([
            // A Redis that is full takes no number. A process that starts later notes it.
            RedisCommand("HSETNX", keys.deployment, .string(StoredFormat.field), .int(StoredFormat.current)),
            RedisCommand("HGET", keys.deployment, .string(StoredFormat.field)),
        ])
        try check(replies[1])
    }

    /// The same for a process that only reads, or that looks again.
    /// - Returns: the deployment's number.
    @discardableResult
    public func checkFormat() async throws(StoreError) -> Int {
        try check(try await redis.run("HGET", keys.deployment, .string(StoredFormat.field)))
        return format.number
    }

    /// Raises the number to the newest. Processes that know only an older one stop when they see it.
    public func raiseFormat() async throws(StoreError) {
        try await redis.run("HSET", keys.deployment, .string(StoredFormat.field), .int(StoredFormat.current))
        format.note(StoredFormat.current)
    }

    private func check(_ reply: Reply) throws(StoreError) {
        guard let text = try reply.optionalString() else { return format.note(1) }
        guard let found = Int(text), found >= 1 else { throw .corrupt("format number in \(keys.deployment)") }
        if found > StoredFormat.current { throw .newerFormat(found, known: StoredFormat.current) }
        format.note(found)
    }
}
