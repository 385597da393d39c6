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
    static let life: Duration = .seconds(60)
    static let group = RedisArgument.string("try")

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
        let scratch = Scratch(self, partition)
        return scratch.general + scratch.texts + scratch.hashes + scratch.sets + scratch.sorted + scratch.streams
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
