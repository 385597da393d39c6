public import LiveActivity
package import Redis

/// One publish that was written into an app's intake.
public struct IntakeEntry: Sendable, Hashable {
    /// The id of the stream's entry.
    public var id: String
    /// Names and values in order, as they were written.
    public var fields: [(name: String, value: [UInt8])]

    public static func == (one: IntakeEntry, other: IntakeEntry) -> Bool {
        one.id == other.id && one.fields.count == other.fields.count
            && zip(one.fields, other.fields).allSatisfy { $0.name == $1.name && $0.value == $1.value }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// An app's intake: a stream into which publishers write, in place of calling the gateway. One gateway at a time reads
/// it, so that publishes are accepted in the order in which they were written. An entry stays until its answer is
/// written, in the same step. If a gateway dies or stalls, another one reads the entry again, and commits it under the
/// same ids. docs/api.md has the fields.
public struct Intake: Sendable {
    /// How long a gateway has the intake to itself after it asked.
    public static let lease: Duration = .seconds(10)
    /// Entries that the streams of answers keep, about.
    static let answersKept = 100_000
    private static let block: Duration = .seconds(2)
    private static let entriesAtOnce = 100

    package let connection: RedisBlockingConnection
    package let redis: RedisClient
    package let keys: Keyspace

    package init(connection: RedisBlockingConnection, redis: RedisClient, keys: Keyspace) {
        self.connection = connection
        self.redis = redis
        self.keys = keys
    }

    /// - Returns: whether `owner` has the lease now.
    public func hold(_ app: AppKey, owner: String) async throws(StoreError) -> Bool {
        try await redis.lease(keys.intakeLease(app), owner: owner, for: Self.lease)
    }

    /// The oldest entries behind one. Waits for the first, no longer than two seconds or `time`; empty then, or after
    /// `interrupt`.
    /// - Parameter position: an entry's id; 0 is before the first
    public func read(
        _ app: AppKey, after position: String, atMost time: Duration? = nil
    ) async throws(StoreError) -> [IntakeEntry] {
        let block = min(time ?? Self.block, Self.block)
        let command = RedisCommand(
            "XREAD",
            [
                "COUNT", .int(Self.entriesAtOnce), "BLOCK", .int(max(1, block.milliseconds)), "STREAMS",
                .key(keys.intake(app)), .string(position),
            ], near: keys.intake(app))
        let reply: RedisReply
        do throws(RedisError) {
            reply = try await connection.send(command, blockingFor: block)
        } catch {
            throw .redis(error)
        }
        let streams = Reply(reply)
        if streams.isNil { return [] }
        var entries: [IntakeEntry] = []
        for stream in try streams.array() {
            let (_, items) = try stream.values(.any("stream"), .array("entries"))
            for item in items {
                let (id, pairs) = try item.entry()
                var fields: [(name: String, value: [UInt8])] = []
                for (name, value) in try pairs.pairs() {
                    fields.append((String(decoding: try name.bytes(), as: UTF8.self), Array(try value.bytes())))
                }
                entries.append(IntakeEntry(id: id, fields: fields))
            }
        }
        return entries
    }

    /// Writes the answer to an entry and removes the entry, in one step.
    public func answer(
        _ app: AppKey, _ entry: IntakeEntry, isAccepted: Bool, _ fields: KeyValuePairs<String, String>
    ) async throws(StoreError) {
        let stream = isAccepted ? keys.intakeDone(app) : keys.intakeRejected(app)
        let values = fields.flatMap { [RedisArgument.string($0.key), .string($0.value)] }
        _ = try await redis.atOnce([
            RedisCommand(
                "XADD", stream, ["MAXLEN", "~", .int(Self.answersKept), "*", "id", .string(entry.id)] + values),
            RedisCommand("XDEL", keys.intake(app), .string(entry.id)),
        ])
    }

    public func interrupt() async { await connection.interrupt() }
    public func close() { connection.close() }
}

extension Keyspace {
    /// Publishes that others write into Redis.
    package func intake(_ app: AppKey) -> RedisKey { key("in:{\(app)}") }
    /// The answers to accepted ones.
    package func intakeDone(_ app: AppKey) -> RedisKey { key("in:{\(app)}:done") }
    /// The answers to the others.
    package func intakeRejected(_ app: AppKey) -> RedisKey { key("in:{\(app)}:rejected") }
    /// The gateway that reads the intake.
    package func intakeLease(_ app: AppKey) -> RedisKey { key("in:{\(app)}:lease") }
}
