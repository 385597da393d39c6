import Foundation
public import Redis

/// SKELETON. A redis-server of the test's own: unix socket in a temporary directory, no port, killed when released.
public final class RedisServer: Sendable {
    /// `append`: with an append-only file, appendfsync always (for tests that kill and restart it).
    public static func start(append: Bool = false, extra: [String] = []) async throws -> RedisServer { fatalError() }
    /// `unix:///…/redis.sock`
    public var url: RedisURL { fatalError() }
    public var socketPath: String { fatalError() }
    public var pid: Int32 { fatalError() }
    public func signal(_ number: Int32) { fatalError() }
    /// Starts it again on the same socket and directory after a kill.
    public func restart() async throws { fatalError() }
    public func stop() { fatalError() }
}
