public import Redis

/// Commands about the one server of a client.
extension RedisClient {
    public func ping() async throws(RedisError) {
        let answer = try await send(RedisCommand("PING")).string()
        guard answer == "PONG" else { throw .unexpectedReply("\(answer) to a PING") }
    }

    /// The fields of INFO, such as `redis_version`. One section, or the server's default sections if nil.
    public func info(section: String? = nil) async throws(RedisError) -> [String: String] {
        try await send(RedisCommand("INFO", section.map { [.string($0)] } ?? [])).infoFields()
    }

    /// Returns when one client blocks on the server.
    public func untilBlocked() async throws {
        try await eventually("a client blocks") { try await info(section: "clients")["blocked_clients"] == "1" }
    }

    /// How often all servers ran a command (in lower case), also in scripts, since they started or since CONFIG
    /// RESETSTAT.
    public func calls(of command: String) async throws(RedisError) -> Int { try await calls()[command] ?? 0 }

    /// The same for every command.
    public func calls() async throws(RedisError) -> [String: Int] {
        var calls: [String: Int] = [:]
        for server in try await onEachPrimary([RedisCommand("INFO", ["commandstats"])]) {
            for (name, line) in try server.replies[0].infoFields() where name.hasPrefix("cmdstat_") {
                let field = line.split(separator: ",").first { $0.hasPrefix("calls=") }
                calls[String(name.dropFirst("cmdstat_".count)), default: 0] +=
                    field.flatMap { Int($0.dropFirst("calls=".count)) } ?? 0
            }
        }
        return calls
    }

    /// A setting by its exact name (`appendfsync`). Nil if this server does not know it.
    public func configValue(_ name: String) async throws(RedisError) -> String? {
        let pairs = try await send(RedisCommand("CONFIG", ["GET", .string(name)])).array()
        for index in stride(from: 0, to: pairs.count - 1, by: 2) where try pairs[index].string() == name {
            return try pairs[index + 1].string()
        }
        return nil
    }
}
