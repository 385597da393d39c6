public import LiveActivity
import Redis

/// A publish that the store refused; nothing was changed.
public enum AcceptanceRefusal: Sendable, Hashable {
    /// The publisher's timestamp is older than the name's last (epoch seconds): 409.
    case timestampBehind(last: Int)
    /// The name has ended and nobody began to follow it since: 409.
    case nameEnded
    /// Too much work waits for this name: 429, seconds to wait.
    case queueFull(retryAfter: Int)
    /// The idempotency key was used with another body: 409.
    case idempotencyConflict
}

public enum Acceptance: Sendable, Hashable {
    /// `timestamp` is the one in the payload, epoch seconds.
    case accepted(PushID, sequence: Int, timestamp: Int)
    case refused(AcceptanceRefusal)
}

/// Accepted publishes and their ledgers.
public struct Pushes: Sendable {
    /// How long a push, its ledger and a name's sequence number are kept after the last publish.
    static let retention: Duration = .seconds(7 * 86_400)
    /// Unswept pushes of one name; only pushes that cannot be superseded add up to this.
    static let mostUnswept = 1_000

    let redis: RedisClient
    let keys: Keyspace
    let time: ServerTime

    /// Commits one publish on its name's slot and wakes a worker; returns when Redis has it.
    ///
    /// `payload` as `APNsWire.Payload` renders it; `timestampOffset` is where its ten digits lie. `id` makes it repeatable:
    /// committing the same id again changes nothing and answers the same. The time of acceptance is Redis's own, so that
    /// gateways whose clocks differ agree; tests give `now` (epoch ms) in its place.
    ///
    /// Order of writes, and what a death in between leaves: the index (leads nowhere, expires), the name among the open ones
    /// (the reconciler finds nothing to do), the commit (the reconciler wakes a worker), the wake-up.
    public func accept(
        _ app: AppKey, _ publish: Publish, id: PushID, payload: [UInt8], timestampOffset: Int,
        now: Int64? = nil
    ) async throws(StoreError) -> Acceptance {
        let tag = keys.tag(app, publish.name)
        let life = RedisArgument.int(Self.retention.milliseconds)
        func optional(_ number: Int?) -> RedisArgument { number.map { .int($0) } ?? "" }
        let route = RedisArgument.string(WorkQueue.route(app, publish.name))
        let replies = try await redis.replies([
            RedisCommand("SET", [.string(keys.index(id)), route, "PX", life]),
            RedisCommand("ZADD", [.string(keys.open), .int(now ?? time.now()), route]),
            RedisCommand(
                Lua.pushAccept,
                keys: [.string(keys.name(tag)), .string(keys.unswept(tag)), .string(keys.push(tag, id))],
                arguments: [
                    .string(id.description), now.map { .int($0) } ?? "", .string(publish.event.rawValue),
                    .int(publish.priority.rawValue),
                    .bytes(publish.audience.encoded), optional(publish.timestamp), .bytes(payload),
                    .int(timestampOffset),
                    publish.isSupersedable ? "1" : "0", optional(publish.options.expiry), optional(publish.staleDate),
                    life,
                    .string(keys.pushPrefix(tag)), .int(Self.mostUnswept),
                ]),
            WorkQueue.add(
                keys, WorkItem(app: app, name: publish.name, push: id, priority: publish.priority, part: .name)),
        ])
        return try redisErrors { () throws(RedisError) in
            // A wake-up that Redis refused is the reconciler's; without the index nobody could ask for the push.
            if let error = replies[0].error ?? replies[2].error { throw error }
            let reply = replies[2]
            switch try reply[0].string() {
            case "ok": return .accepted(id, sequence: try reply[1].integer(), timestamp: try reply[2].integer())
            case "behind": return .refused(.timestampBehind(last: try reply[1].integer()))
            case "ended": return .refused(.nameEnded)
            case "full": return .refused(.queueFull(retryAfter: 5))
            case let other: throw .unexpectedReply("push-accept answered \(other)")
            }
        }
    }

    /// Reserves push ids for an idempotency key for 24 h: the same ids for the same body (`bodyDigest`), nil for another body.
    /// Written before the pushes are committed: whoever repeats the request after a crash commits the same ids.
    public func reserve(
        _ app: AppKey, idempotencyKey: String, bodyDigest: [UInt8], ids: [PushID]
    ) async throws(StoreError) -> [PushID]? {
        let key = RedisArgument.string(keys.idempotency(app, idempotencyKey))
        let value = bodyDigest + ids.flatMap(\.uuid.bytes)
        let replies = try await redis.run([
            RedisCommand("SET", [key, .bytes(value), "NX", "EX", "86400"]), RedisCommand("GET", [key]),
        ])
        let stored = try redisErrors { () throws(RedisError) in try replies[1].bytes() }
        guard stored.starts(with: bodyDigest) else { return nil }
        let reserved = stored.dropFirst(bodyDigest.count)
        guard reserved.count == 16 * ids.count else { throw .corrupt("idempotency record") }
        return stride(from: reserved.startIndex, to: reserved.endIndex, by: 16).compactMap { start in
            UUIDBytes(bytes: reserved[start..<start + 16]).map(PushID.init)
        }
    }

    public func ledger(_ app: AppKey, _ id: PushID) async throws(StoreError) -> Ledger? {
        guard let name = try await name(of: id, app) else { return nil }
        return try await ledger(app, name, id)
    }

    private func ledger(_ app: AppKey, _ name: ActivityName, _ id: PushID) async throws(StoreError) -> Ledger? {
        let reply = try await redis.run([RedisCommand("HGETALL", [.string(keys.push(keys.tag(app, name), id))])])[0]
        let fields = try redisErrors { () throws(RedisError) in try StoredHash(reply) }
        return fields.isEmpty ? nil : try Ledger(id: id, name: name, fields)
    }

    /// Cancels what is unsent. Nil: no such push. The ledger as it is afterwards; a finished push stays as it was.
    /// Dated by Redis, as acceptance is.
    public func cancel(_ app: AppKey, _ id: PushID, now: Int64? = nil) async throws(StoreError) -> Ledger? {
        guard let name = try await name(of: id, app) else { return nil }
        let tag = keys.tag(app, name)
        _ = try await redis.run([
            RedisCommand(
                Lua.pushCancel,
                keys: [
                    .string(keys.name(tag)), .string(keys.unswept(tag)), .string(keys.push(tag, id)),
                    .string(keys.retries(tag, id)), .string(keys.tasks(tag, id)),
                ],
                arguments: [.string(id.description), now.map { .int($0) } ?? ""])
        ])
        return try await ledger(app, name, id)
    }

    /// The name a push belongs to, if it is this app's.
    func name(of id: PushID, _ app: AppKey) async throws(StoreError) -> ActivityName? {
        let reply = try await redis.run([RedisCommand("GET", [.string(keys.index(id))])])[0]
        if reply.isNil { return nil }
        let route = try redisErrors { () throws(RedisError) in try reply.string() }
        guard let (owner, name) = WorkQueue.appAndName(route) else { throw .corrupt("push index") }
        return owner == app ? name : nil
    }
}

extension RedisClient {
    /// A pipeline in which no error reply is expected: the first one is thrown, in the store's words.
    func run(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisReply] {
        let replies = try await replies(commands)
        for reply in replies { if let error = reply.error { throw .redis(error) } }
        return replies
    }

    /// A pipeline whose error replies the caller looks at.
    func replies(_ commands: [RedisCommand]) async throws(StoreError) -> [RedisReply] {
        do throws(RedisError) { return try await pipeline(commands) } catch { throw .redis(error) }
    }
}

func redisErrorsAsync<T>(_ body: () async throws(RedisError) -> T) async throws(StoreError) -> T {
    do throws(RedisError) { return try await body() } catch { throw .redis(error) }
}

func redisErrors<T>(_ body: () throws(RedisError) -> T) throws(StoreError) -> T {
    do throws(RedisError) { return try body() } catch { throw .redis(error) }
}
