import Redis

extension ClusterServers {
    /// Lets the nodes serve their own slots while another node is away.
    public func allowPartialCoverage() async throws {
        for node in primaries {
            try await client(of: node).send(RedisCommand("CONFIG", ["SET", "cluster-require-full-coverage", "no"]))
        }
    }

    /// A node that has none of these keys.
    public func node(without keys: [String]) async throws -> RedisServer? {
        var needed: [RedisServer] = []
        for key in keys { needed.append(try await primary(of: key)) }
        return primaries.first { node in !needed.contains { $0 === node } }
    }
}
