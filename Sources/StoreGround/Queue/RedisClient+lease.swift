import LiveActivity
package import Redis

extension RedisClient {
    /// Takes an app's lease, for work that one process does, or prolongs it. A length of zero gives it back.
    /// - Parameter key: of the lease, on the app's slot
    /// - Returns: false if another owner has it
    package func lease(
        _ key: RedisKey, owner: String, for length: Duration
    ) async throws(StoreError) -> Bool {
        try await run(
            Lua.appLease, keys: ["lease": key], ["owner": .string(owner), "length": .int(length.milliseconds)]
        ).isOne()
    }
}
