import Foundation

/// A Redis Sentinel for one test: the same program, watching one primary. A single sentinel is its own majority.
public final class SentinelServer: Sendable {
    /// The sentinel's name of the primary.
    public static let primary = "lamp"

    public let port: Int
    private let directory: String
    private let program: Program

    /// Starts a sentinel and returns when it answers. `password` is its own, and `primaryPassword` is the primary's.
    public static func start(
        watching primary: RedisServer, password: String? = nil, primaryPassword: String? = nil
    ) async throws -> SentinelServer {
        try await start(watching: primary.port ?? 0, password: password, primaryPassword: primaryPassword)
    }

    /// The same for a primary on a port of 127.0.0.1. `extra` are further lines of the sentinel's file.
    public static func start(
        watching port: Int, password: String? = nil, primaryPassword: String? = nil, extra: [String] = []
    ) async throws -> SentinelServer {
        let sentinel = try SentinelServer(port, password, primaryPassword, extra)
        try await eventually("the sentinel answers") { (try? sentinel.command("PING")) != nil }
        return sentinel
    }

    private init(_ primaryPort: Int, _ password: String?, _ primaryPassword: String?, _ extra: [String]) throws {
        directory = try temporaryDirectory()
        port = try freePort()
        let name = Self.primary
        let lines =
            [
                "port \(port)", "bind 127.0.0.1", "dir \(directory)",
                "sentinel monitor \(name) 127.0.0.1 \(primaryPort) 1",
                // On a busy machine a healthy primary may not answer for a second.
                "sentinel down-after-milliseconds \(name) 3000", "sentinel failover-timeout \(name) 6000",
            ] + (password.map { ["requirepass \($0)"] } ?? [])
            + (primaryPassword.map { ["sentinel auth-pass \(name) \($0)"] } ?? []) + extra
        // The sentinel writes what it learns into its file.
        let file = directory + "/sentinel.conf"
        try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: false, encoding: .utf8)
        program = try Program(
            [RedisServer.program() ?? "redis-server", file, "--sentinel"], directory: directory, environment: [:])
    }

    deinit { stop() }

    public func stop() {
        program.kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Sends one command, whose arguments hold no spaces. Returns the first line of the reply.
    public func command(_ words: String) throws -> String {
        try firstLine(of: words, on: connectedSocket(port: port))
    }

    /// Makes another server the primary, as soon as the sentinel knows a suitable one.
    public func failOver() async throws {
        try await eventually("the sentinel begins a failover") {
            try self.command("SENTINEL FAILOVER \(Self.primary)").hasPrefix("+OK")
        }
    }
}
