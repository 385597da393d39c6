import Redis
import TestSupport

/// A primary, a replica with all its data, and a sentinel that watches them.
struct SentinelPair {
    let first: RedisServer
    let second: RedisServer
    let sentinel: SentinelServer

    init(append: Bool = false, password: String? = nil, sentinelPassword: String? = nil) async throws {
        let secret = password.map { ["--requirepass", $0, "--masterauth", $0] } ?? []
        first = try await RedisServer.start(append: append, tcp: true, extra: secret)
        second = try await RedisServer.start(
            append: append, tcp: true, extra: ["--replicaof", "127.0.0.1", "\(first.port ?? 0)"] + secret)
        sentinel = try await SentinelServer.start(
            watching: first, password: sentinelPassword, primaryPassword: password)
    }

    func url(_ more: String = "") throws -> RedisURL {
        try RedisURL("redis+sentinel://127.0.0.1:\(sentinel.port)/\(SentinelServer.primary)\(more)")
    }

    func port(_ redis: RedisClient) async throws -> Int {
        Int(try await redis.configValue("port") ?? "") ?? 0
    }

    /// Waits until the replica has all writes of this client, and the sentinel may promote it.
    func settle(_ redis: RedisClient) async throws {
        try await eventually("the replica has it") {
            try await redis.send(RedisCommand("WAIT", [1, 10])).integer() == 1
        }
        // The sentinel learns about replicas from the primary from time to time.
        try await eventually("the sentinel knows the replica") {
            try sentinel.command("SENTINEL REPLICAS \(SentinelServer.primary)") == "*1"
        }
    }

    /// The sentinel's flags of the primary, such as `master,s_down`.
    func flags(_ client: RedisClient) async throws -> String {
        let fields = try await client.send(RedisCommand("SENTINEL", ["master", .string(SentinelServer.primary)]))
        for index in stride(from: 0, to: fields.count - 1, by: 2) where try fields[index].string() == "flags" {
            return try fields[index + 1].string()
        }
        return ""
    }
}
