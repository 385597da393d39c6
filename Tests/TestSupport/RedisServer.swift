import Foundation
public import Redis
import Synchronization

/// A redis-server for one test: a unix socket in a short temporary directory, no port, nothing saved.
///
/// Its parent is a small shell that reads a pipe of the test process. A word on that pipe, or its end when the test
/// process ends in any way, makes the shell kill the server with -9. So no server outlives its test.
public final class RedisServer: Sendable {
    private struct Running {
        var shell: pid_t
        var server: pid_t
        /// The write end of the pipe. The shell understands "keep" and "stop", and end of file means "stop".
        var control: Int32
    }

    private let directory: String
    private let arguments: [String]
    private let clock: TestClock?
    private let running: Mutex<Running?>
    /// The other nodes, if a cluster takes the place of one server.
    private let others = Mutex<[RedisServer]>([])
    /// The TCP port on 127.0.0.1, if `start(tcp: true)` asked for one.
    public let port: Int?

    /// Starts a server and returns when it answers PING.
    /// - Parameters:
    ///   - append: with an append-only file and `appendfsync always`, for tests that kill and restart it.
    ///   - tcp: also listen on a free port of 127.0.0.1.
    ///   - extra: further options as redis-server takes them, such as `["--requirepass", "secret"]`.
    ///   - clock: its time of day, which the test sets.
    ///   - environment: its variables beside ours. A cluster does not get them.
    public static func start(
        append: Bool = false, tcp: Bool = false, extra: [String] = [], clock: TestClock? = nil,
        environment: [String: String] = [:]
    ) async throws -> RedisServer {
        guard !tcp, isCluster else {
            let server = try RedisServer(
                append: append, tcp: tcp, extra: extra, clock: clock, environment: environment)
            try await server.launch()
            return server
        }
        // Run the same test on a cluster, which refuses scripts and pipelines whose keys are in different slots.
        var nodes: [RedisServer] = []
        for _ in 0..<3 {
            nodes.append(try await ClusterServers.node(append: append, extra: extra, clock: clock))
        }
        try await ClusterServers(nodes, primaries: nodes.count).form()
        nodes[0].others.withLock { $0 = Array(nodes.dropFirst()) }
        return nodes[0]
    }

    /// LAMPLIGHTER_TEST_CLUSTER=1 makes every server that needs no port of its own a cluster of three.
    public static let isCluster = ProcessInfo.processInfo.environment["LAMPLIGHTER_TEST_CLUSTER"] == "1"

    private init(
        append: Bool, tcp: Bool, extra: [String], clock: TestClock?, environment: [String: String]
    ) throws {
        self.clock = clock
        guard let program = Self.program() else { throw RedisServerError.missing }
        // Use a short path, because a unix socket's path has at most 107 bytes.
        var template = Array("/tmp/lamp-redis-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw RedisServerError.failed("mkdtemp: \(lastSystemError())") }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        port = tcp ? try freePort() : nil
        // `env` becomes the server, so the watchdog kills the right process.
        let variables = environment.merging(clock?.environment ?? [:]) { $1 }
        let prefix = ["env"] + variables.map { "\($0.key)=\($0.value)" }
        arguments =
            prefix + [
                program, "--port", "\(port ?? 0)", "--bind", "127.0.0.1", "--unixsocket", directory + "/redis.sock",
                "--unixsocketperm", "700", "--dir", directory, "--save", "", "--daemonize", "no",
                "--logfile", directory + "/redis.log",
                "--appendonly", append ? "yes" : "no", "--appendfsync", "always",
                "--hash-max-ziplist-value", "1024", "--hash-max-ziplist-entries", "512",
            ] + extra
        running = Mutex(nil)
    }

    deinit { stop() }

    /// The URL for a client: the socket, or the nodes of a cluster.
    public var url: RedisURL {
        let others = others.withLock { $0 }
        return others.isEmpty ? socketURL : ClusterServers.url([self] + others)
    }
    /// `unix:///…/redis.sock`
    public var socketURL: RedisURL {
        // The text consists of fixed characters, so a failure here is a bug in RedisURL.
        do { return try RedisURL("unix://" + socketPath) } catch { fatalError("\(error)") }
    }
    /// `redis://127.0.0.1:port`, for a server started with `tcp: true`.
    public var tcpURL: RedisURL {
        do { return try RedisURL("redis://127.0.0.1:\(port ?? 0)") } catch { fatalError("\(error)") }
    }
    public var socketPath: String { directory + "/redis.sock" }
    /// The server's log so far.
    public var log: String { (try? String(contentsOfFile: directory + "/redis.log", encoding: .utf8)) ?? "" }
    /// 0 if the server is stopped.
    public var pid: Int32 { running.withLock { $0?.server ?? 0 } }

    /// Sends SIGSTOP, SIGCONT, SIGKILL, … to the server itself.
    public func signal(_ number: Int32) {
        running.withLock { if let server = $0?.server { _ = kill(server, number) } }
    }

    /// Kills the server with -9 if it runs, and starts it again on the same socket, directory and options.
    public func restart() async throws {
        end("keep")
        try await launch()
    }

    /// Kills the server with -9, reaps it and removes its directory. May be called repeatedly.
    public func stop() {
        for other in others.withLock({ $0 }) { other.stop() }
        end("stop")
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func end(_ word: String) {
        guard let old = running.withLock({ $0.take() }) else { return }
        let line = Array((word + "\n").utf8)
        _ = write(old.control, line, line.count)
        close(old.control)
        var status: Int32 = 0
        while waitpid(old.shell, &status, 0) == -1, errno == EINTR {}
    }

    private func launch() async throws {
        try? FileManager.default.removeItem(atPath: socketPath)
        let started = try spawnWatched()
        running.withLock { $0 = started }
        let deadline = ContinuousClock.now + .seconds(60)
        while !isAnswering() {
            guard ContinuousClock.now < deadline, isAlive(started.server) else {
                let tail = log.split(separator: "\n").suffix(5).joined(separator: "\n")
                stop()
                throw RedisServerError.failed("redis-server did not come up; its log ends with:\n\(tail)")
            }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// The shell script. $1 is the directory, and the rest is the server's command line. It prints the server's pid,
    /// and then waits for a word or the end of its input.
    private static let watchdog = """
        directory=$1; shift
        "$@" </dev/null >>"$directory/redis.log" 2>&1 &
        server=$!
        echo $server
        exec >&-
        read -r word || word=stop
        kill -9 $server 2>/dev/null
        wait $server 2>/dev/null
        [ "$word" = keep ] || rm -rf "$directory"
        """

    private func spawnWatched() throws -> Running {
        let control = try pipeClosedOnExec()
        let output = try pipeClosedOnExec()
        defer {
            close(control.read)
            close(output.read)
        }
        let shell: pid_t
        do {
            shell = try ChildProcess.spawn(
                ["sh", "-c", Self.watchdog, "sh", directory] + arguments, input: control.read, output: output.write)
        } catch {
            close(control.write)
            close(output.write)
            throw RedisServerError.failed("\(error)")
        }
        close(output.write)
        var text = ""
        var byte: UInt8 = 0
        while read(output.read, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return Running(shell: shell, server: pid_t(text) ?? 0, control: control.write)
    }

    /// Whether the server replies with PONG, or with an error that only a running server sends (NOAUTH).
    private func isAnswering() -> Bool {
        guard let socket = try? connectedSocket(path: socketPath) else { return false }
        defer { close(socket) }
        var timeout = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        guard send(socket, "PING\r\n", 6, Int32(MSG_NOSIGNAL)) == 6 else { return false }
        var reply = [UInt8](repeating: 0, count: 64)
        let count = recv(socket, &reply, reply.count, 0)
        let text = String(decoding: reply.prefix(max(0, count)), as: UTF8.self)
        return text.hasPrefix("+PONG") || text.hasPrefix("-NOAUTH")
    }

    /// False for a process that has ended, even if it was not reaped yet.
    private func isAlive(_ pid: pid_t) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
        return stat.split(separator: ")").last?.trimmingCharacters(in: .whitespaces).first != "Z"
    }

    /// The redis-server of PATH, or the program that LAMPLIGHTER_TEST_REDIS names: another version, or Valkey.
    public static func program() -> String? {
        if let path = ProcessInfo.processInfo.environment["LAMPLIGHTER_TEST_REDIS"], !path.isEmpty {
            return access(path, X_OK) == 0 ? path : nil
        }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/usr/local/bin"
        return path.split(separator: ":").map { "\($0)/redis-server" }.first { access($0, X_OK) == 0 }
    }
}

public enum RedisServerError: Error, CustomStringConvertible {
    case missing
    case failed(String)

    public var description: String {
        switch self {
        case .missing:
            "redis-server is not in PATH (or LAMPLIGHTER_TEST_REDIS names no program), and these tests need a real one: "
                + "run bin/setup"
        case .failed(let text): text
        }
    }
}
