public import Redis

/// Questions about the one server that a client is for.
extension RedisClient {
    public func ping() async throws(RedisError) {
        let answer = try await send(RedisCommand("PING")).string()
        guard answer == "PONG" else { throw .unexpectedReply("\(answer) to a PING") }
    }

    /// The fields of INFO, such as `redis_version`; one section, or all that the server thinks worth showing.
    public func info(section: String? = nil) async throws(RedisError) -> [String: String] {
        try await send(RedisCommand("INFO", section.map { [.string($0)] } ?? [])).infoFields()
    }

    /// A setting by its exact name (`appendfsync`); nil if this server does not know it.
    public func configValue(_ name: String) async throws(RedisError) -> String? {
        let pairs = try await send(RedisCommand("CONFIG", ["GET", .string(name)])).array()
        for index in stride(from: 0, to: pairs.count - 1, by: 2) where try pairs[index].string() == name {
            return try pairs[index + 1].string()
        }
        return nil
    }
}
