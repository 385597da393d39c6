import Foundation

/// A Redis Sentinel of the test's own: the same program, watching one primary. Alone it is its own majority.
public final class SentinelServer: Sendable {
    /// What it calls the primary.
    public static let primary = "lamp"

    public let port: Int
    private let directory: String
    private let program: Program

    /// Returns when it answers. `password`: its own; `primaryPassword`: the primary's.
    public static func start(
        watching primary: RedisServer, password: String? = nil, primaryPassword: String? = nil
    ) async throws -> SentinelServer {
        try await start(watching: primary.port ?? 0, password: password, primaryPassword: primaryPassword)
    }

    /// The same for a primary on a port of 127.0.0.1; `extra`: further lines of the sentinel's file.
    public static func start(
        watching port: Int, password: String? = nil, primaryPassword: String? = nil, extra: [String] = []
    ) async throws -> SentinelServer {
        let sentinel = try SentinelServer(port, password, primaryPassword, extra)
        try await eventually("the sentinel answers") { (try? sentinel.command("PING")) != nil }
        return sentinel
    }

    private init(_ primaryPort: Int, _ password: String?, _ primaryPassword: String?, _ extra: [String]) throws {
        directory = FileManager.default.temporaryDirectory.path + "/lamp-sentinel-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        port = try freePort()
        let name = Self.primary
        let lines =
            [
                "port \(port)", "bind 127.0.0.1", "dir \(directory)",
                "sentinel monitor \(name) 127.0.0.1 \(primaryPort) 1",
                // A busy machine may keep a primary that is well from its answer for a second.
                "sentinel down-after-milliseconds \(name) 3000", "sentinel failover-timeout \(name) 6000",
            ] + (password.map { ["requirepass \($0)"] } ?? [])
            + (primaryPassword.map { ["sentinel auth-pass \(name) \($0)"] } ?? []) + extra
        // It writes what it learns into its file.
        let file = directory + "/sentinel.conf"
        try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: false, encoding: .utf8)
        program = try Program(
            ["redis-server", file, "--sentinel"], directory: directory, environment: [:])
    }

    deinit { stop() }

    public func stop() {
        program.kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// One command without spaces in its arguments: the first line of the answer.
    public func command(_ words: String) throws -> String {
        try firstLine(of: words, on: connectedSocket(port: port))
    }

    /// Makes another server the primary, once it knows one that can be.
    public func failOver() async throws {
        try await eventually("the sentinel begins a failover") {
            try self.command("SENTINEL FAILOVER \(Self.primary)").hasPrefix("+OK")
        }
    }
}
