import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries

/// Times that pass because a test says so.
extension WorkerFixture {
    /// Where the name's work is.
    var partition: Partition { store.keys.partition(name) }
    func reader() -> WorkReader { store.reader(partition) }

    /// Makes the entries of a dead worker an hour old, so that the next worker claims them when it starts.
    func ageEntries(_ stream: WorkStream) async throws {
        let key = store.registry.keys.stream(app, stream, partition)
        let group = RedisArgument.string(WorkQueue.group)
        let pending = try await store.redis.send(RedisCommand("XPENDING", key, group, "-", "+", "100")).array()
        #expect(!pending.isEmpty, "nobody has read an entry")
        for entry in pending {
            let (id, consumer) = (try entry[0].string(), try entry[1].string())
            try await store.redis.send(
                RedisCommand("XCLAIM", key, group, .string(consumer), "0", .string(id), "IDLE", "3600000", "JUSTID"))
        }
    }

    /// Ends the lease of the push's only shard, as if its time had passed.
    func endLease(_ id: PushID) async throws {
        try await store.redis.send(RedisCommand("HSET", tasks(id), "0/1:d", "0"))
    }

    /// Waits until the oldest entry of the stream of names was delivered that many times.
    func takenOver(times: Int) async throws {
        try await eventually("somebody takes it over") {
            let pending = try await store.redis.send(
                RedisCommand("XPENDING", store.keys.stream(app, .namesHigh, partition), "workers", "-", "+", "1"))
            return pending.count == 1 ? try pending[0][3].integer() >= times : false
        }
    }

    /// Moves the deadline of a push into the past.
    func passDeadline(_ id: PushID) async throws {
        let tag = store.keys.tag(app, name)
        // A lone push gets keys of its own first.
        let none = Lease(app: app, name: name, push: id, part: .shard(index: 0, count: 1), owner: "", epoch: 0)
        #expect(try await !store.sweeps.giveBack(none))
        try await store.redis.send(RedisCommand("HSET", store.keys.push(tag, id), "until", "1"))
    }

    /// Waits until a worker has put an update into the timer because of pacing, and ends the name's interval.
    func letIntervalPass(for id: PushID) async throws {
        let item = WorkItem(app: app, name: name, push: id, priority: .high, part: .name)
        try await eventually("it waits in the timer") {
            try await !store.redis.send(RedisCommand("ZSCORE", store.keys.due(of: item), .string(item.member))).isNil
        }
        try await store.redis.send(RedisCommand("HSET", key(Keyspace.name), "paced", "0 0"))
        try await store.queue.schedule(item, due: nowMilliseconds())
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
