package import Redis

extension Keyspace {
    /// A sign-in through a provider that was begun; `digest` is of the browser's text and of its state.
    package func consoleSignIn(_ digest: String) -> RedisKey { key("console:o:{\(digest)}") }
}
