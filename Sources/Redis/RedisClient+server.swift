/// Questions about the server itself. A cluster has several, which `onEachPrimary` asks.
extension RedisClient {
    public func ping() async throws(RedisError) {
        let answer = try await send(RedisCommand("PING")).string()
        guard answer == "PONG" else { throw .unexpectedReply("PING was not answered with PONG") }
    }

    /// The fields of INFO, such as `redis_version`; one section, or all that the server thinks worth showing.
    public func info(section: String? = nil) async throws(RedisError) -> [String: String] {
        try await send(RedisCommand("INFO", section.map { [.string($0)] } ?? [])).infoFields()
    }

    /// A setting by its exact name (`appendfsync`); nil if this server does not know it. Throws a `server` error where
    /// CONFIG is forbidden, as on most hosted ones.
    public func configValue(_ name: String) async throws(RedisError) -> String? {
        let pairs = try await send(RedisCommand("CONFIG", ["GET", .string(name)])).array()
        for index in stride(from: 0, to: pairs.count - 1, by: 2) where try pairs[index].string() == name {
            return try pairs[index + 1].string()
        }
        return nil
    }
}

extension RedisReply {
    /// The fields of a reply to INFO.
    public func infoFields() throws(RedisError) -> [String: String] {
        var fields: [String: String] = [:]
        for line in try string().split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[String(line[..<colon])] = String(line[colon...].dropFirst())
        }
        return fields
    }
}
