import Redis

/// The load of Redis, as all servers that take writes tell it.
public struct RedisLoad: Sendable, Hashable {
    /// Bytes in use on the fullest server, and its limit; limit 0 = none.
    public var usedMemory = 0
    public var memoryLimit = 0
    /// Scripts of each server, by its address in a cluster, else under `primary`. One full server delays its names,
    /// however idle the others are, so they are not added up.
    public var scripts: [String: Scripts] = [:]
    public var connectedReplicas = 0
    /// The last write of the append-only file failed on a server.
    public var isDiskFailing = false

    /// Scripts that a server has run since its start, and the seconds that they took.
    public struct Scripts: Sendable, Hashable {
        public var count = 0
        public var seconds = 0.0
    }
}

extension RedisLoad {
    /// Adds what one server says of itself.
    /// - Parameters:
    ///   - node: its address; nil: it is the only one
    ///   - fields: of its answers to `INFO`
    mutating func add(_ node: String?, _ fields: [String: String]) {
        func number(_ field: String) -> Int { fields[field].flatMap { StoredNumber.read($0) } ?? 0 }
        let (used, limit) = (number("used_memory"), number("maxmemory"))
        if Self.fullness(used, limit) >= Self.fullness(usedMemory, memoryLimit) {
            (usedMemory, memoryLimit) = (used, limit)
        }
        var own = Scripts()
        for command in ["cmdstat_evalsha", "cmdstat_eval"] {
            let stats = Self.parts(fields[command] ?? "")
            own.count += stats["calls"].flatMap { StoredNumber.read($0) } ?? 0
            own.seconds += (stats["usec"].flatMap { Double($0) } ?? 0) / 1_000_000
        }
        scripts[node ?? "primary"] = own
        connectedReplicas += number("connected_slaves")
        if fields["aof_last_write_status"] == "err" { isDiskFailing = true }
    }

    /// Without a limit, only the size tells servers apart.
    private static func fullness(_ used: Int, _ limit: Int) -> Double {
        limit > 0 ? Double(used) / Double(limit) : Double(used) / Double(Int.max)
    }

    /// Reads `calls=5,usec=70,…`.
    private static func parts(_ text: String) -> [String: String] {
        Dictionary(
            text.split(separator: ",").compactMap { part in
                let sides = part.split(separator: "=", maxSplits: 1)
                return sides.count == 2 ? (String(sides[0]), String(sides[1])) : nil
            }, uniquingKeysWith: { $1 })
    }
}

extension Store {
    /// Asks every server that takes writes. Managed services may leave fields out, which count as 0 then.
    public func redisLoad() async throws(StoreError) -> RedisLoad {
        let answers: [(node: String?, replies: [RedisReply])]
        do throws(RedisError) {
            answers = try await redis.onEachPrimary([
                RedisCommand("INFO", ["memory"]), RedisCommand("INFO", ["commandstats"]),
                RedisCommand("INFO", ["persistence"]), RedisCommand("INFO", ["replication"]),
            ])
        } catch { throw .redis(error) }
        var load = RedisLoad()
        for (node, replies) in answers {
            let fields = try translatingErrors { () throws(RedisError) -> [String: String] in
                var all: [String: String] = [:]
                for reply in replies { all.merge(try reply.infoFields()) { $1 } }
                return all
            }
            load.add(node, fields)
        }
        return load
    }
}
