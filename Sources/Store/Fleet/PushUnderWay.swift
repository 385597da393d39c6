public import LiveActivity
import Redis

/// A push that is being sent now, or that waits for a worker.
public struct PushUnderWay: Sendable, Hashable {
    public var app: AppKey
    public var name: ActivityName
    public var id: PushID
    public var event: ActivityEvent
    public var priority: PushPriority
    /// Whether no worker has begun it.
    public var isWaiting = false
    /// Epoch ms.
    public var createdAt: Int64
    public var targets: Int
    /// Targets that have an outcome.
    public var settled: Int
    /// Which share of the name's tokens has been read and settled, 0 to 1.
    public var share: Double
}

extension WorkQueue {
    /// How many names with work are looked at, the newest first.
    public static let mostNames = 200

    /// The pushes that are being swept, most targets first. Then the next push that waits, for each other name.
    /// - Parameter limit: most pushes of the answer.
    public func underWay(_ apps: [AppKey], limit: Int) async throws(StoreError) -> [PushUnderWay] {
        let open = apps.flatMap { app in keys.allPartitions.map { (app: app, key: keys.open(app, $0)) } }
        let lists = try await redis.run(
            open.map { RedisCommand("ZRANGE", $0.key, ["0", .int(Self.mostNames - 1), "REV"]) })
        var names: [(app: AppKey, name: ActivityName)] = []
        for (open, list) in zip(open, lists) { names += try list.names().names.map { (app: open.app, name: $0) } }
        names = Array(names.prefix(Self.mostNames))
        let heads = try await redis.replies(
            names.flatMap { name in
                let tag = keys.tag(name.app, name.name)
                return [
                    keys.lonePush(tag), RedisCommand("HGET", keys.name(tag), "active"),
                    RedisCommand("ZRANGE", keys.unswept(tag), "0", "0"),
                ]
            })
        var found: [PushUnderWay] = []
        var pushes: [(app: AppKey, name: ActivityName, id: PushID, isWaiting: Bool)] = []
        for (index, name) in names.enumerated() {
            let replies = heads[3 * index..<3 * index + 3]
            if let lone = try? LonePush(replies[replies.startIndex]) {
                found += [PushUnderWay(name.app, name.name, lone)].compactMap(\.self)
                continue
            }
            let active = (try? replies[replies.startIndex + 1].optionalString()).flatMap { PushID($0) }
            let next = (try? replies[replies.startIndex + 2].array().first?.string()).flatMap { PushID($0) }
            if let push = active ?? next { pushes.append((name.app, name.name, push, active == nil)) }
        }
        let counts = SettledField.allCases.map { RedisArgument.string($0.rawValue) }
        let fields: [RedisArgument] = ["event", "prio", "created", "targets"] + counts
        let tasks: [RedisArgument] = ["shards", "left", "0/1:p"]
        let records = try await redis.replies(
            pushes.flatMap { push in
                let tag = keys.tag(push.app, push.name)
                return [
                    RedisCommand("HMGET", keys.push(tag, push.id), fields),
                    RedisCommand("HMGET", keys.tasks(tag, push.id), tasks),
                ]
            })
        found += pushes.enumerated().compactMap { index, push in
            PushUnderWay(
                push.app, push.name, push.id, isWaiting: push.isWaiting, records[2 * index], records[2 * index + 1])
        }
        func rank(_ push: PushUnderWay) -> (Int, Int, Int64) {
            (push.isWaiting ? 1 : 0, -push.targets, push.createdAt)
        }
        return Array(found.sorted { rank($0) < rank($1) }.prefix(limit))
    }
}

extension PushUnderWay {
    /// Nothing of a lone push is settled before it ends. Nil if it cannot be read.
    fileprivate init?(_ app: AppKey, _ name: ActivityName, _ lone: LonePush) {
        guard let createdAt = lone.fields.number("created") else { return nil }
        self.init(
            app: app, name: name, id: lone.id, event: .update, priority: lone.priority, isWaiting: !lone.isSent,
            createdAt: Int64(createdAt), targets: 0, settled: 0, share: 0)
    }

    /// Nil if the push has ended meanwhile.
    fileprivate init?(
        _ app: AppKey, _ name: ActivityName, _ id: PushID, isWaiting: Bool, _ record: Reply, _ tasks: Reply
    ) {
        func text(_ reply: Reply, _ index: Int) -> String? {
            index < reply.count ? (try? reply[index].optionalString()) : nil
        }
        func number(_ reply: Reply, _ index: Int) -> Int { text(reply, index).flatMap { StoredNumber.read($0) } ?? 0 }
        guard let event = text(record, 0).flatMap(ActivityEvent.init(rawValue:)),
            let priority = PushPriority(rawValue: number(record, 1)),
            let createdAt = text(record, 2).flatMap({ StoredNumber.read($0) })
        else { return nil }
        let settled = SettledField.allCases.indices.reduce(0) { $0 + number(record, 4 + $1) }
        let shards = max(1, number(tasks, 0))
        // With one shard the position tells more. The positions of many shards would take many fields.
        let position = text(tasks, 2).flatMap { Double($0) }.map { $0 / Double(ScanPosition.end.rawValue) } ?? 0
        let share = shards == 1 ? position : 1 - Double(min(shards, number(tasks, 1))) / Double(shards)
        self.init(
            app: app, name: name, id: id, event: event, priority: priority, isWaiting: isWaiting,
            createdAt: Int64(createdAt), targets: number(record, 3), settled: settled, share: min(1, max(0, share)))
    }
}
