import LiveActivity
import Redis

extension ConsoleStore {
    /// Keeps a sign-in through a provider that was begun, under the digest of its name.
    public func begin(attempt name: String, _ record: [UInt8], life: Duration) async throws(StoreError) {
        let key = keys.consoleSignIn(Self.digest(name))
        try await redis.run("SET", key, .bytes(record), "PX", .int(life.milliseconds))
    }

    /// Takes it out, so that it is used once.
    public func take(attempt name: String) async throws(StoreError) -> [UInt8]? {
        let key = keys.consoleSignIn(Self.digest(name))
        let (record, _) = try await redis.atOnce([RedisCommand("GET", key), RedisCommand("DEL", key)])
            .values(.optionalBytes("attempt"), .any("DEL"))
        return record.map { Array($0) }
    }
}

extension AppCredential {
    /// The id that people have in logs.
    static let openIDPeople = "oidc"
}
