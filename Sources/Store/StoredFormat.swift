import Redis

/// The format of everything that a deployment stores, as one number in Redis. It rises when an older version could
/// not read, or would misread, what this one writes. docs/upgrading.md says what a new number asks of an operator.
public enum StoredFormat {
    /// The format that this version reads and writes. A deployment without a number has format 1: 0.1.0 wrote none.
    public static let current = 1
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
    public func checkFormat() async throws(StoreError) {
        try check(try await redis.run("HGET", keys.deployment, .string(StoredFormat.field)))
    }

    private func check(_ reply: Reply) throws(StoreError) {
        guard let text = try reply.optionalString() else { return }
        guard let found = Int(text), found >= 1 else { throw .corrupt("format number in \(keys.deployment)") }
        if found > StoredFormat.current { throw .newerFormat(found, known: StoredFormat.current) }
    }
}
