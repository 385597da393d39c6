import LiveActivity
public import Logging
public import Redis

/// Everything that lies in Redis, behind the words of the domain. `docs/keyspace.md` lists the keys.
public struct Store: Sendable {
    public let redis: RedisClient
    public let registry: Registry
    public let channels: Channels
    public let pushes: Pushes
    public let queue: WorkQueue
    public let sweeps: Sweeps
    public let alarms: Alarms
    let keys: Keyspace

    /// Connects lazily; call `prepare()` before the first registration.
    public init(redis: RedisClient, prefix: String = Keyspace.defaultPrefix, logger: Logger) {
        self.redis = redis
        keys = Keyspace(prefix: prefix)
        registry = Registry(redis: redis, keys: keys)
        channels = Channels(redis: redis, keys: keys)
        pushes = Pushes(redis: redis, keys: keys)
        queue = WorkQueue(redis: redis, keys: keys)
        sweeps = Sweeps(redis: redis, keys: keys)
        alarms = Alarms(redis: redis, keys: keys)
    }

    /// All scripts, to be given to `RedisClient`.
    public static let scripts: [RedisScript] = Lua.all
}

/// What can go wrong on the way to Redis and back.
public enum StoreError: Error, Sendable, Hashable {
    case redis(RedisError)
    /// Bytes in Redis that no version of Lamplighter writes; says the key's kind, never its content.
    case corrupt(String)
}
