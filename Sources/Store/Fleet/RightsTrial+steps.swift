import LiveActivity
import Redis

extension RightsTrial {
    /// The steps of one node, by the type of their keys.
    struct Scratch {
        typealias Step = RightsTrial.Step

        private static let (read, write) = ("+@read", "+@write")

        let partition: Partition
        let keys: Keyspace
        let id: String
        private let life = RedisArgument.int(RightsTrial.life.milliseconds)

        init(_ trial: RightsTrial, _ partition: Partition) {
            (self.partition, keys, id) = (partition, trial.keys, trial.id)
        }

        private func key(_ type: String) -> RedisKey { keys.scratch(partition, id, type) }

        private func step(_ right: String, _ name: String, _ type: String, _ arguments: [RedisArgument]) -> Step {
            Step(command: RedisCommand(name, key(type), arguments), right: right)
        }

        private func reads(_ name: String, _ type: String, _ arguments: RedisArgument...) -> Step {
            step(Self.read, name, type, arguments)
        }

        private func writes(_ name: String, _ type: String, _ arguments: RedisArgument...) -> Step {
            step(Self.write, name, type, arguments)
        }

        private func onStream(
            _ right: String, _ name: String, _ word: RedisArgument, _ rest: RedisArgument...
        ) -> Step {
            Step(command: RedisCommand(name, [word, .key(key("x"))] + rest), right: right)
        }

        private func keyless(
            _ right: String, _ name: String, _ arguments: [RedisArgument] = [], needed: Bool = true
        ) -> Step {
            Step(command: RedisCommand(name, arguments, near: key("t")), right: right, isNeeded: needed)
        }

        var general: [Step] {
            [
                keyless("+@connection", "PING"), keyless("+time", "TIME"),
                // No client has this id.
                keyless("+client|unblock", "CLIENT", ["UNBLOCK", "0"], needed: false),
                keyless("+info", "INFO", ["memory"], needed: false),
                Step(
                    command: RedisCommand(Lua.rightsTry, keys: ["scratch": key("s")], ["life": life]),
                    right: "+@scripting"),
            ]
        }

        var texts: [Step] {
            [
                writes("SET", "t", "1", "PX", life), reads("GET", "t"), writes("INCR", "t"), writes("INCRBY", "t", "1"),
                writes("APPEND", "t", "1"), reads("EXISTS", "t"), reads("PTTL", "t"), writes("PERSIST", "t"),
                writes("EXPIRE", "t", "60"), writes("PEXPIREAT", "t", "0"), writes("DEL", "t"),
            ]
        }

        var hashes: [Step] {
            [
                writes("HSET", "h", "a", "1"), writes("HSETNX", "h", "b", "1"), writes("HINCRBY", "h", "b", "1"),
                writes("PEXPIRE", "h", life), reads("HGET", "h", "a"), reads("HMGET", "h", "a", "b"),
                reads("HGETALL", "h"), reads("HKEYS", "h"), reads("HVALS", "h"), reads("HLEN", "h"),
                reads("HEXISTS", "h", "a"), reads("HSCAN", "h", "0"), reads("HRANDFIELD", "h"),
                writes("HDEL", "h", "a"),
                writes("UNLINK", "h"),
            ]
        }

        var sets: [Step] {
            [
                writes("SADD", "e", "a"), writes("PEXPIRE", "e", life), reads("SCARD", "e"), reads("SMEMBERS", "e"),
                reads("SMISMEMBER", "e", "a"), reads("SRANDMEMBER", "e"), reads("SSCAN", "e", "0"),
                writes("SREM", "e", "a"), writes("RPUSH", "l", "a"), writes("PEXPIRE", "l", life),
                reads("LRANGE", "l", "0", "-1"),
                writes("LREM", "l", "0", "a"), writes("PFADD", "p", "a"), writes("PEXPIRE", "p", life),
                reads("PFCOUNT", "p"), writes("UNLINK", "p"),
            ]
        }

        var sorted: [Step] {
            [
                writes("ZADD", "z", "1", "a"), writes("PEXPIRE", "z", life), reads("ZCARD", "z"),
                reads("ZSCORE", "z", "a"), reads("ZMSCORE", "z", "a"), reads("ZRANK", "z", "a"),
                reads("ZREVRANK", "z", "a"),
                reads("ZCOUNT", "z", "-inf", "+inf"), reads("ZRANGE", "z", "0", "-1"),
                reads("ZREVRANGE", "z", "0", "-1"), reads("ZRANGEBYSCORE", "z", "-inf", "+inf"),
                reads("ZRANGEBYLEX", "z", "-", "+"),
                reads("ZREVRANGEBYLEX", "z", "+", "-"), reads("ZRANDMEMBER", "z"), writes("ZREM", "z", "a"),
                writes("ZREMRANGEBYLEX", "z", "-", "+"), writes("ZREMRANGEBYSCORE", "z", "-inf", "+inf"),
            ]
        }

        var streams: [Step] {
            [
                writes("XADD", "x", "1-1", "a", "b"), writes("PEXPIRE", "x", life),
                onStream(Self.write, "XGROUP", "CREATE", RightsTrial.group, "0", "MKSTREAM"), reads("XLEN", "x"),
                Step(
                    command: RedisCommand("XREAD", ["COUNT", "1", "STREAMS", .key(key("x")), "0"]),
                    right: Self.read),
                reads("XRANGE", "x", "-", "+"), reads("XREVRANGE", "x", "+", "-"),
                reads("XPENDING", "x", RightsTrial.group),
                onStream(Self.read, "XINFO", "GROUPS"), onStream(Self.read, "XINFO", "CONSUMERS", RightsTrial.group),
                writes("XAUTOCLAIM", "x", RightsTrial.group, "a", "0", "0-0"),
                writes("XCLAIM", "x", RightsTrial.group, "a", "0", "1-1", "JUSTID"), writes("XDEL", "x", "1-1"),
                writes("XACK", "x", RightsTrial.group, "1-1"), writes("XTRIM", "x", "MAXLEN", "0"),
                onStream(Self.write, "XGROUP", "DELCONSUMER", RightsTrial.group, "a"),
                writes("XADD", "x", "2-1", "a", "b"),
            ]
        }
    }
}
