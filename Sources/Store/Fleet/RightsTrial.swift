import LiveActivity
public import Redis

/// Something that Redis does not do for this user, or cannot do at all.
public struct RedisRefusal: Sendable, Hashable, CustomStringConvertible {
    /// For example `XREADGROUP`, or `TIME in a script`.
    public let command: String
    /// The rule that allows it, as ACL SETUSER takes it.
    public fileprivate(set) var right: String
    public let error: RedisError
    /// False: processes run without it, but worse.
    public var isNeeded = true

    public var description: String { "\(command) is refused (\(error.why))" }
}

/// One harmless example of each command that processes send, on scratch keys that expire.
///
/// A user without a right, or a server that only resembles Redis, is found at the start and not by publishers.
struct RightsTrial {
    /// The scratch keys live so long. A trial takes milliseconds.
    private static let life: Duration = .seconds(60)
    private static let group = RedisArgument.string("try")
    private static let (read, write) = ("+@read", "+@write")

    struct Step {
        var command: RedisCommand
        var right: String
        var isNeeded = true
    }

    let redis: RedisClient
    let keys: Keyspace
    let id: String

    private func key(_ partition: Partition, _ type: String) -> RedisKey { keys.scratch(partition, id, type) }

    /// The commands that need no connection of their own. A test compares their names with the sources.
    func steps(_ partition: Partition) -> [Step] {
        func step(_ right: String, _ name: String, _ type: String, _ arguments: [RedisArgument]) -> Step {
            Step(command: RedisCommand(name, key(partition, type), arguments), right: right)
        }
        func reads(_ name: String, _ type: String, _ arguments: RedisArgument...) -> Step {
            step(Self.read, name, type, arguments)
        }
        func writes(_ name: String, _ type: String, _ arguments: RedisArgument...) -> Step {
            step(Self.write, name, type, arguments)
        }
        func onStream(_ right: String, _ name: String, _ word: RedisArgument, _ rest: RedisArgument...) -> Step {
            Step(command: RedisCommand(name, [word, .key(key(partition, "x"))] + rest), right: right)
        }
        func keyless(_ right: String, _ name: String, _ arguments: [RedisArgument] = [], needed: Bool = true) -> Step {
            let command = RedisCommand(name, arguments, near: key(partition, "t"))
            return Step(command: command, right: right, isNeeded: needed)
        }
        let life = RedisArgument.int(Self.life.milliseconds)
        let general = [
            keyless("+@connection", "PING"), keyless("+time", "TIME"),
            // No client has this id.
            keyless("+client|unblock", "CLIENT", ["UNBLOCK", "0"], needed: false),
            keyless("+info", "INFO", ["memory"], needed: false),
            Step(
                command: RedisCommand(Lua.rightsTry, keys: ["scratch": key(partition, "s")], ["life": life]),
                right: "+@scripting"),
        ]
        let texts = [
            writes("SET", "t", "1", "PX", life), reads("GET", "t"), writes("INCR", "t"), writes("INCRBY", "t", "1"),
            writes("APPEND", "t", "1"), reads("EXISTS", "t"), reads("PTTL", "t"), writes("PERSIST", "t"),
            writes("EXPIRE", "t", "60"), writes("PEXPIREAT", "t", "0"), writes("DEL", "t"),
        ]
        let hashes = [
            writes("HSET", "h", "a", "1"), writes("HSETNX", "h", "b", "1"), writes("HINCRBY", "h", "b", "1"),
            writes("PEXPIRE", "h", life), reads("HGET", "h", "a"), reads("HMGET", "h", "a", "b"), reads("HGETALL", "h"),
            reads("HKEYS", "h"), reads("HVALS", "h"), reads("HLEN", "h"), reads("HEXISTS", "h", "a"),
            reads("HSCAN", "h", "0"), reads("HRANDFIELD", "h"), writes("HDEL", "h", "a"), writes("UNLINK", "h"),
        ]
        let sets = [
            writes("SADD", "e", "a"), writes("PEXPIRE", "e", life), reads("SCARD", "e"), reads("SMEMBERS", "e"),
            reads("SMISMEMBER", "e", "a"), reads("SRANDMEMBER", "e"), reads("SSCAN", "e", "0"),
            writes("SREM", "e", "a"),
            writes("RPUSH", "l", "a"), writes("PEXPIRE", "l", life), reads("LRANGE", "l", "0", "-1"),
            writes("LREM", "l", "0", "a"), writes("PFADD", "p", "a"), writes("PEXPIRE", "p", life),
            reads("PFCOUNT", "p"),
            writes("UNLINK", "p"),
        ]
        let sorted = [
            writes("ZADD", "z", "1", "a"), writes("PEXPIRE", "z", life), reads("ZCARD", "z"), reads("ZSCORE", "z", "a"),
            reads("ZMSCORE", "z", "a"), reads("ZRANK", "z", "a"), reads("ZREVRANK", "z", "a"),
            reads("ZCOUNT", "z", "-inf", "+inf"), reads("ZRANGE", "z", "0", "-1"), reads("ZREVRANGE", "z", "0", "-1"),
            reads("ZRANGEBYSCORE", "z", "-inf", "+inf"), reads("ZRANGEBYLEX", "z", "-", "+"),
            reads("ZREVRANGEBYLEX", "z", "+", "-"), reads("ZRANDMEMBER", "z"), writes("ZREM", "z", "a"),
            writes("ZREMRANGEBYLEX", "z", "-", "+"),
        ]
        let streams = [
            writes("XADD", "x", "1-1", "a", "b"), writes("PEXPIRE", "x", life),
            onStream(Self.write, "XGROUP", "CREATE", Self.group, "0", "MKSTREAM"), reads("XLEN", "x"),
            Step(
                command: RedisCommand("XREAD", ["COUNT", "1", "STREAMS", .key(key(partition, "x")), "0"]),
                right: Self.read),
            reads("XRANGE", "x", "-", "+"), reads("XREVRANGE", "x", "+", "-"), reads("XPENDING", "x", Self.group),
            onStream(Self.read, "XINFO", "GROUPS"), onStream(Self.read, "XINFO", "CONSUMERS", Self.group),
            writes("XAUTOCLAIM", "x", Self.group, "a", "0", "0-0"),
            writes("XCLAIM", "x", Self.group, "a", "0", "1-1", "JUSTID"), writes("XDEL", "x", "1-1"),
            writes("XACK", "x", Self.group, "1-1"), writes("XTRIM", "x", "MAXLEN", "0"),
            onStream(Self.write, "XGROUP", "DELCONSUMER", Self.group, "a"), writes("XADD", "x", "2-1", "a", "b"),
        ]
        return general + texts + hashes + sets + sorted + streams
    }

    /// Tries a partition's node.
    /// - Returns: the refusals, or nil if the node is away.
    func refusals(_ partition: Partition) async -> [RedisRefusal]? {
        let steps = steps(partition)
        var found: [RedisRefusal] = []
        for (step, result) in zip(steps, await redis.pipeline(eachOf: steps.map(\.command))) {
            let error: RedisError?
            switch result {
            case .success(let reply):
                error = reply.error
                if error == nil, step.right == "+@scripting" { found += Self.inScript(reply) }
            case .failure(.unreachable), .failure(.lost), .failure(.insecure), .failure(.closed): return nil
            case .failure(let failure): error = failure
            }
            if let error {
                found.append(
                    RedisRefusal(
                        command: step.command.name, right: step.right, error: error, isNeeded: step.isNeeded))
            }
        }
        found += await transaction(partition) + blockingRead(partition)
        _ = await redis.pipeline(eachOf: ["s", "x"].map { RedisCommand("UNLINK", key(partition, $0)) })
        return Self.judged(found).map { refusal in
            var refusal = refusal
            // The command is allowed, but not with this key.
            if refusal.error.why.contains("access") { refusal.right = "~\(keys.prefix):*" }
            return refusal
        }
    }

    /// Reads the reply of the script, which tries on after a refusal.
    private static func inScript(_ reply: RedisReply) -> [RedisRefusal] {
        let words = (try? reply.array())?.map { (try? $0.string()) ?? "" } ?? []
        return stride(from: 0, to: words.count - 1, by: 2).map { index in
            // Redis 6 gives the text as on the wire, with a dash before it.
            let text = words[index + 1].trimmingPrefix("-")
            let right = words[index].hasPrefix("TIME") ? "+time" : "+@write"
            return RedisRefusal(command: words[index], right: right, error: RedisError(reply: String(text)))
        }
    }

    private func transaction(_ partition: Partition) async -> [RedisRefusal] {
        let commands = [
            RedisCommand("SET", key(partition, "t"), "1", "PX", .int(Self.life.milliseconds)),
            RedisCommand("DEL", key(partition, "t")),
        ]
        do throws(RedisError) {
            _ = try await redis.transaction(commands)
            return []
        } catch {
            return [RedisRefusal(command: "MULTI with EXEC", right: "+@transaction", error: error)]
        }
    }

    /// An entry is there, so the read does not wait.
    private func blockingRead(_ partition: Partition) async -> [RedisRefusal] {
        let connection = redis.blockingConnection()
        defer { connection.close() }
        let command = RedisCommand(
            "XREADGROUP",
            ["GROUP", Self.group, "a", "COUNT", "1", "BLOCK", "100", "STREAMS", .key(key(partition, "x")), ">"])
        do throws(RedisError) {
            _ = try await connection.send(command, blockingFor: .milliseconds(100))
            return []
        } catch {
            return [RedisRefusal(command: "XREADGROUP with BLOCK", right: "+@write", error: error)]
        }
    }

    /// A refused command makes others fail, and so does a server that is full for a while. These errors are left out.
    private static func judged(_ found: [RedisRefusal]) -> [RedisRefusal] {
        let refused = found.filter(\.error.isRefusal)
        if refused.contains(where: \.isNeeded) || found.contains(where: \.error.isRetriable) { return refused }
        return found.filter { $0.isNeeded && !$0.error.isRefusal } + refused
    }
}

extension Store {
    /// Finds out what Redis refuses this user, before a process relies on it. Nodes of a cluster that are away are left
    /// out.
    public func refusals() async -> [RedisRefusal] {
        let trial = RightsTrial(redis: redis, keys: keys, id: PushID.random().short)
        var found: [RedisRefusal] = []
        for partition in keys.allPartitions {
            for refusal in await trial.refusals(partition) ?? []
            where !found.contains(where: { $0.command == refusal.command }) {
                found.append(refusal)
            }
        }
        return found
    }
}
