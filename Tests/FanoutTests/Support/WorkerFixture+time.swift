import LiveActivity
import Redis
import Testing

@testable import Store

/// Times that pass because a test says so.
extension WorkerFixture {
    /// Makes the entries of a dead worker an hour old, so that the next worker claims them when it starts.
    func ageEntries(_ stream: WorkStream) async throws {
        let key = store.registry.keys.stream(app, stream)
        let group = RedisArgument.string(WorkQueue.group)
        let pending = try await store.redis.send(RedisCommand("XPENDING", key, group, "-", "+", "100")).array()
        #expect(!pending.isEmpty, "nobody has read an entry")
        for entry in pending {
            let (id, consumer) = (try entry[0].string(), try entry[1].string())
            try await store.redis.send(
                RedisCommand("XCLAIM", key, group, .string(consumer), "0", .string(id), "IDLE", "3600000", "JUSTID"))
        }
    }

    /// Makes the attempts of the name's waiting channels due now, whatever time APNs named. A test uses a `Retry-After`
    /// of minutes, so channels wait until this call, however slow the machine is.
    func retryNow() async throws {
        let line = key(Keyspace.waitingChannels)
        let channels = try await store.redis.send(RedisCommand("ZRANGE", line, "0", "-1")).array()
        #expect(!channels.isEmpty, "no channel waits")
        for channel in channels {
            try await store.redis.send(RedisCommand("ZADD", line, "XX", "1", .bytes(try channel.bytes())))
        }
        try await store.queue.schedule(.retries(app, name, .high), due: nowMilliseconds())
    }
}

extension WorkerFixture {
    /// One of the keys of the name, such as `Keyspace.waitingChannels`.
    func key(_ key: (Keyspace) -> (String) -> RedisKey) -> RedisKey { key(store.keys)(store.keys.tag(app, name)) }

    /// The tasks of a push to the name.
    func tasks(_ id: PushID) -> RedisKey { store.keys.tasks(store.keys.tag(app, name), id) }
}
