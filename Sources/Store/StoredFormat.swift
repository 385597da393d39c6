import Redis

/// The format of everything that a deployment stores, as one number in Redis. It rises with each change of a layout.
/// A version reads and writes one format, and refuses each other one (docs/upgrading.md).
public enum StoredFormat {
    public static let current = 12
    static let field = "format"
}

extension Store {
    /// Finds out whether this version may use what is stored, before a process does any work. It notes the format in a
    /// deployment that has none. A crash leaves nothing to correct.
    /// - Throws: `otherFormat` if another version wrote what is stored.
    public func claimFormat() async throws(StoreError) {
        let (_, number) = try await redis.replies([
            // A Redis that is full takes no number. A process that starts later notes it.
            RedisCommand("HSETNX", keys.deployment, .string(StoredFormat.field), .int(StoredFormat.current)),
            RedisCommand("HGET", keys.deployment, .string(StoredFormat.field)),
        ]).values(.any("HSETNX"), .any("format"))
        try check(number)
    }

    /// Checks the format for a process that only reads, or that looks again.
    /// - Returns: the deployment's number. Nil if no process has started yet, so nothing is stored.
    @discardableResult
    public func checkFormat() async throws(StoreError) -> Int? {
        try check(try await redis.run("HGET", keys.deployment, .string(StoredFormat.field)))
    }

    @discardableResult
    private func check(_ reply: Reply) throws(StoreError) -> Int? {
        guard let text = try reply.optionalString() else { return nil }
        guard let found = Int(text), found >= 1 else { throw .corrupt("format number in \(keys.deployment)") }
        if found != StoredFormat.current { throw .otherFormat(found, known: StoredFormat.current) }
        return found
    }
}
