public import LiveActivity
import Redis
public import StoreGround

/// The result of a look at a name's broadcast queue.
public struct BroadcastTake: Sendable {
    public var turn: BroadcastTurn
    /// Pushes that left the queue unsent.
    public var counted: [BroadcastEvent: Int]
}

public enum BroadcastTurn: Sendable {
    /// No push of this name waits.
    case idle
    /// Another worker has the lease.
    case held(Duration)
    /// Wait until the broadcast channel is made, until a backoff is over, or for the interval between two updates.
    case wait(Duration)
    /// These pushes expire unsent. Put them on the app's list of dead letters, then take again and name them.
    case expires([PushID])
    case send(BroadcastTask)
}

/// A name's broadcast queue. A push for everyone joins it when it begins, and is not finished before it has left it.
extension Broadcasts {
    /// Least time between two updates to one broadcast channel. Apple's staff: about one a second.
    package static let interval: Duration = .seconds(1)
    /// Pushes that one look reads. The script stays well under 5 ms, however long the queue is.
    static let look = 100
    /// Time between two looks at a queue whose broadcast channel is not made: the worker that makes it may have died.
    static let longestWait: Duration = .seconds(30)

    /// Claims the next broadcast of the queue, for one request.
    /// - Parameter listed: pushes that may expire, because they are on the app's list of dead letters
    public func take(
        _ app: AppKey, _ name: ActivityName, owner: String, lease: Duration, listed: [PushID] = []
    ) async throws(StoreError) -> BroadcastTake {
        let tag = keys.tag(app, name)
        let reply = try await redis.run(
            Lua.broadcastTake,
            keys: ["bc": keys.broadcast(tag), "bt": keys.broadcastQueue(tag), "l": keys.nameLeases(tag)],
            [
                "owner": .string(owner), "length": .int(lease.milliseconds),
                "interval": .int(Self.interval.milliseconds), "longestWait": .int(Self.longestWait.milliseconds),
                "most": .int(Self.look), "retention": .int(keys.retention), "ps": .string(keys.pushPrefix(tag)),
                "ws": .string(keys.tasksPrefix(tag)), "dls": .string(keys.deadLetterPrefix(tag)),
            ], rest: listed.map { .string($0.description) })
        var values = try ReplyValues(reply)
        let word = try values.next(.string("state"))
        let counted = [
            BroadcastEvent.superseded: try values.next(.integer("superseded")),
            .cancelled: try values.next(.integer("cancelled")), .expired: try values.next(.integer("expired")),
        ].filter { $0.value > 0 }
        endings.note(app, name, ids: try values.next(.string("final pushes")))
        await count(app, counted)
        return BroadcastTake(turn: try turn(word, &values, app, name, owner), counted: counted)
    }

    /// Whether the deadline of the first push of the queue is over.
    public func isOverdue(_ app: AppKey, _ name: ActivityName, now: Int64) async throws(StoreError) -> Bool {
        let tag = keys.tag(app, name)
        return try await keys.isOverdue(keys.broadcastQueue(tag), tag, redis, now: now)
    }

    private func turn(
        _ word: String, _ values: inout ReplyValues, _ app: AppKey, _ name: ActivityName, _ owner: String
    ) throws(StoreError) -> BroadcastTurn {
        switch word {
        case "idle": return .idle
        case "held": return .held(.milliseconds(try values.last(.integer("time left"))))
        case "wait": return .wait(.milliseconds(try values.last(.integer("time left"))))
        case "expires": return .expires(try values.last(.strings("pushes")).compactMap { PushID($0) })
        case "send":
            let (epoch, push, channel, storage, attempts, fields) = try values.all(
                .integer("epoch"), .push("push"), .string("channel"), .string("storage"), .integer("attempts"),
                .hash("record"))
            guard let push, let channel = try? BroadcastChannelID(channel),
                let storage = BroadcastStorage(rawValue: storage)
            else { throw .corrupt("broadcast queue") }
            return .send(
                BroadcastTask(
                    lease: Lease(app: app, name: name, push: push, part: .broadcast, owner: owner, epoch: epoch),
                    record: try PushRecord(id: push, fields), channel: channel, storage: storage, attempts: attempts))
        default: throw .unexpectedReply("broadcast-take answered \(word)")
        }
    }

    /// - Returns: false if another worker has the lease. Nothing was written then.
    public func settle(_ task: BroadcastTask, _ settlement: BroadcastSettlement) async throws(StoreError) -> Bool {
        let lease = task.lease
        let tag = keys.tag(lease.app, lease.name)
        let pause: Duration = if case .again(let pause) = settlement.outcome { pause } else { .zero }
        let reply = try await redis.run(
            Lua.broadcastSettle,
            keys: ["bc": keys.broadcast(tag), "bt": keys.broadcastQueue(tag), "l": keys.nameLeases(tag)],
            [
                "epoch": .int(lease.epoch), "owner": .string(lease.owner), "id": .string(lease.push.description),
                "outcome": .string(settlement.event.rawValue), "channel": .string(task.channel.rawValue),
                "status": settlement.status.map { .int($0) } ?? "", "reason": .string(settlement.reason ?? ""),
                "pause": .int(pause.milliseconds), "mayRepeat": settlement.mayRepeat ? "1" : "0",
                "retention": .int(keys.retention),
                "ps": .string(keys.pushPrefix(tag)), "ws": .string(keys.tasksPrefix(tag)),
                "dls": .string(keys.deadLetterPrefix(tag)),
            ])
        var values = try ReplyValues(reply)
        guard try values.next(.flag("settled")) else { return false }
        let (final, superseded) = try values.all(.string("final pushes"), .integer("superseded"))
        endings.note(lease.app, lease.name, ids: final)
        await count(lease.app, [settlement.event: 1, .superseded: superseded].filter { $0.value > 0 })
        return true
    }

    /// The counts are on another slot, so a worker that dies after the settlement leaves one broadcast uncounted.
    private func count(_ app: AppKey, _ counted: [BroadcastEvent: Int]) async {
        if counted.isEmpty { return }
        _ = try? await redis.run(
            counted.map { event, number in
                RedisCommand("HINCRBY", keys.broadcastCounts(app), .string(event.rawValue), .int(number))
            })
    }

    /// The counts of all workers since the app's first broadcast.
    public func counts(_ app: AppKey) async throws(StoreError) -> [BroadcastEvent: Int] {
        let fields = try await redis.hash(keys.broadcastCounts(app))
        return Dictionary(uniqueKeysWithValues: BroadcastEvent.allCases.map { ($0, fields.number($0.rawValue) ?? 0) })
    }
}

/// One broadcast that a worker has claimed.
public struct BroadcastTask: Sendable {
    public var lease: Lease
    public var record: PushRecord
    public var channel: BroadcastChannelID
    public var storage: BroadcastStorage
    /// Attempts before this one.
    public var attempts: Int
}
