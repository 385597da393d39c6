public import LiveActivity
package import Redis

/// Streams and timers. Entries are hints: leases and positions on the name's slot decide, so a lost one does no harm.
public struct WorkQueue: Sendable {
    package static let group = "workers"
    /// A wake-up may be lost, so the next publish or late joiner repeats it after this time.
    static let wakeAgain = ScriptNumbers.wakeAgain

    package let redis: RedisClient
    package let keys: Keyspace
    /// Apps whose names have outboxes.
    package let telling: Set<AppKey>
    /// Rings when this process sets a timer.
    public let wakeup = TimerWakeup()
    /// The timers, and what else a worker looks at all the time.
    package let sparse = SparseKeys()

    package init(redis: RedisClient, keys: Keyspace, telling: Set<AppKey>) {
        self.redis = redis
        self.keys = keys
        self.telling = telling
    }

    package static func add(_ keys: Keyspace, _ item: WorkItem) -> RedisCommand {
        RedisCommand("XADD", keys.stream(of: item), ["*"] + item.entry)
    }

    package static func route(_ app: AppKey, _ name: ActivityName) -> String { "\(app) \(name)" }

    /// Creates streams and groups. Repeatable. A worker calls this at its start, and after Redis lost its data. Streams
    /// on a node that is away are left out: their reader makes them when it finds none.
    public func prepare(_ apps: [AppKey]) async throws(StoreError) {
        let commands = streams(apps).map { stream in
            RedisCommand("XGROUP", ["CREATE", .key(stream), .string(Self.group), "0", "MKSTREAM"])
        }
        var (answers, failure) = (0, nil as RedisError?)
        for result in await redis.pipeline(eachOf: commands) {
            switch result {
            case .success(let reply):
                guard let error = reply.error else {
                    answers += 1
                    continue
                }
                if case .server("BUSYGROUP", _) = error {
                    answers += 1
                } else if error.isRetriable {
                    failure = error
                } else {
                    throw .redis(error)
                }
            case .failure(let error): failure = error
            }
        }
        if answers == 0, let failure { throw .redis(failure) }
    }

    public func add(_ items: [WorkItem]) async throws(StoreError) {
        try await redis.run(items.map { Self.add(keys, $0) })
    }

    /// The command for a blocking read of new entries, at most `count` of each app. It waits up to `block`.
    package func read(
        _ stream: WorkStream, _ apps: [AppKey], _ partition: Partition, consumer: String, count: Int, block: Duration
    ) -> RedisCommand {
        RedisCommand(
            "XREADGROUP",
            [
                "GROUP", .string(Self.group), .string(consumer), "COUNT", .int(count), "BLOCK",
                .int(block.milliseconds), "STREAMS",
            ] + apps.map { .key(keys.stream($0, stream, partition)) } + apps.map { _ in ">" })
    }

    /// Entries that Lamplighter cannot read are in `unreadable`, so that the caller acknowledges them.
    public typealias Batch = (entries: [WorkEntry], unreadable: [WorkEntry.StreamPosition])

    /// Reads a reply to `read`.
    package func entries(
        _ reply: Reply, _ stream: WorkStream, _ apps: [AppKey], _ partition: Partition
    ) throws(StoreError) -> Batch {
        var batch: Batch = ([], [])
        if reply.isNil { return batch }
        let streams = Dictionary(uniqueKeysWithValues: apps.map { (keys.stream($0, stream, partition), $0) })
        for part in try reply.array() {
            let (key, entries) = try part.values(.string("stream"), .array("entries"))
            guard let app = streams[RedisKey(key)] else { throw .unexpectedReply("an entry of another stream") }
            try Self.parse(entries, app, stream, partition, isTakenOver: false, into: &batch)
        }
        return batch
    }

    /// Claims entries that no worker has touched for `idle`. Redis looks at ten times `count` entries in one call. Live
    /// workers may have most of them, so the calls go on to the end of the list.
    public func claim(
        _ stream: WorkStream, _ app: AppKey, consumer: String, idle: Duration, count: Int
    ) async throws(StoreError) -> Batch {
        var batch: Batch = ([], [])
        let there = keys.allPartitions.filter { !redis.isAway(keys.stream(app, stream, $0)) }
        do throws(StoreError) {
            try await there.eachApart { (partition) async throws(StoreError) in
                var position = "0-0"
                repeat {
                    let left = count - batch.entries.count
                    guard left > 0 else { return }
                    // Redis 7 tells the deleted entries too.
                    var reply = try ReplyValues(
                        await redis.run(
                            "XAUTOCLAIM", keys.stream(app, stream, partition), .string(Self.group), .string(consumer),
                            .int(idle.milliseconds), .string(position), "COUNT", .int(left)))
                    position = try reply.next(.string("position"))
                    let entries = try reply.next(.array("entries"))
                    try Self.parse(entries, app, stream, partition, isTakenOver: true, into: &batch)
                } while position != "0-0"
            }
        } catch {
            // A node is away. Entries of the others are claimed by now, so the caller gets them.
            if batch.entries.isEmpty, batch.unreadable.isEmpty { throw error }
        }
        return batch
    }

    private static func parse(
        _ items: [Reply], _ app: AppKey, _ stream: WorkStream, _ partition: Partition, isTakenOver: Bool,
        into batch: inout Batch
    ) throws(StoreError) {
        let priority: PushPriority = stream == .namesHigh || stream == .shardsHigh ? .high : .low
        for item in items where !item.isNil {
            let (id, fields) = try item.entry()
            let place = WorkEntry.StreamPosition(app: app, stream: stream, partition: partition, id: id)
            let own = fields.part(0..<WorkItem.fieldCount)
            if let own = try? own.hash(), let work = WorkItem(app: app, priority: priority, own) {
                // The worker that a claimed entry was taken from may be sending the push.
                let handed = isTakenOver ? nil : HandedPush(fields)
                batch.entries.append(WorkEntry(item: work, place: place, isTakenOver: isTakenOver, handed: handed))
            } else {
                batch.unreadable.append(place)
            }
        }
    }

    /// Restarts the idle time of entries, because this worker is working on them.
    public func renew(_ entries: [WorkEntry], consumer: String) async throws(StoreError) {
        let commands = byStream(entries.map(\.place)).map { stream, ids in
            RedisCommand("XCLAIM", stream, [.string(Self.group), .string(consumer), "0"] + ids + ["JUSTID"])
        }
        try await redis.run(commands)
    }

    /// Acknowledges and deletes entries whose work is done.
    public func acknowledge(_ entries: [WorkEntry.StreamPosition]) async throws(StoreError) {
        try await redis.run(byStream(entries).flatMap(Self.acknowledgement))
    }

    /// A replica that takes over may have the first command only. A deleted entry that is pending is claimed and
    /// acknowledged later. The other way round the entry would be nobody's, and count as waiting for ever.
    static func acknowledgement(_ stream: RedisKey, _ ids: [RedisArgument]) -> [RedisCommand] {
        [RedisCommand("XDEL", stream, ids), RedisCommand("XACK", stream, [.string(group)] + ids)]
    }

    private func byStream(_ entries: [WorkEntry.StreamPosition]) -> [RedisKey: [RedisArgument]] {
        var grouped: [RedisKey: [RedisArgument]] = [:]
        for place in entries {
            grouped[keys.stream(place.app, place.stream, place.partition), default: []].append(.string(place.id))
        }
        return grouped
    }

    /// Removes the worker from the groups if it leaves no unacknowledged entries, so that `status` shows live workers.
    public func leave(_ apps: [AppKey], consumer: String) async throws(StoreError) {
        for stream in streams(apps) {
            let pending = try await redis.run("XPENDING", stream, .string(Self.group), "-", "+", "1", .string(consumer))
            if pending.count == 0 { try await remove(consumer, from: stream) }
        }
    }

    package func remove(_ consumer: String, from stream: RedisKey) async throws(StoreError) {
        try await redis.run(
            RedisCommand("XGROUP", ["DELCONSUMER", .key(stream), .string(Self.group), .string(consumer)]))
    }

    package func streams(_ apps: [AppKey]) -> [RedisKey] {
        keys.allPartitions.flatMap { partition in
            apps.flatMap { app in WorkStream.allCases.map { keys.stream(app, $0, partition) } }
        }
    }
}

/// A stream entry that a worker has read, until it is acknowledged.
public struct WorkEntry: Sendable, Hashable {
    /// Where an entry is. Also one that cannot be read.
    public struct StreamPosition: Sendable, Hashable {
        package var app: AppKey
        package var stream: WorkStream
        package var partition: Partition
        /// The entry's id in its stream.
        public var id: String
    }

    public var item: WorkItem
    public var place: StreamPosition
    /// True if the entry was claimed from another worker, or from an earlier run of this one.
    public var isTakenOver: Bool
    /// The push, if its acceptance began it and this worker is the first that reads the entry.
    public var handed: HandedPush?
}
