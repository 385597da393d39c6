import Foundation
import Synchronization

/// One run of the built `lamplighter`, as a user starts it: its output in files, its end awaited.
///
/// A small shell is its parent and reads a pipe of ours: when this process ends in any way at all, the shell kills the
/// program with -9, so that none outlives its test.
final class Program: Sendable {
    struct Output {
        /// The program's own, or 128 + the signal that ended it.
        var code: Int32
        var out: String
        var err: String
    }

    /// Beside the test's own executable: the build's products lie together.
    static let path: String = {
        let test = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: test).deletingLastPathComponent().appendingPathComponent("lamplighter").path
    }()

    private static let watchdog = """
        base=$1; shift
        "$@" </dev/null >"$base.out" 2>"$base.err" &
        program=$!
        echo $program >"$base.pid.new" && mv "$base.pid.new" "$base.pid"
        { read -r word; kill -9 $program; } <&3 2>/dev/null &
        watcher=$!
        exec 3<&-
        wait $program
        code=$?
        kill $watcher 2>/dev/null
        exit $code
        """

    private let process: Process
    private let control = Pipe()
    private let base: String
    private let ended: AsyncStream<Int32>
    private let code = Mutex<Int32?>(nil)

    /// `directory` receives the output files; `arguments` begin with the program's path.
    init(_ arguments: [String], directory: String, environment: [String: String]) throws {
        base = directory + "/" + UUID().uuidString
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // Foundation hands on only 0, 1 and 2: the pipe comes as 0 and is moved, for `sh` gives background jobs /dev/null.
        process.arguments = ["-c", "exec 3<&0\n" + Self.watchdog, "sh", base] + arguments
        process.environment = environment.merging(["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]) {
            own, _ in own
        }
        process.currentDirectoryURL = URL(fileURLWithPath: directory)
        process.standardInput = control
        // The shell reports there how its children were killed.
        process.standardError = FileHandle.nullDevice
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        ended = stream
        process.terminationHandler = { process in
            continuation.yield(process.terminationStatus)
            continuation.finish()
        }
        try process.run()
    }

    deinit { kill() }

    var out: String { (try? String(contentsOfFile: base + ".out", encoding: .utf8)) ?? "" }
    var err: String { (try? String(contentsOfFile: base + ".err", encoding: .utf8)) ?? "" }

    var pid: pid_t {
        (try? String(contentsOfFile: base + ".pid", encoding: .utf8)).flatMap { pid_t($0.dropLast()) } ?? 0
    }

    func signal(_ number: Int32) {
        let pid = pid
        if pid > 0, process.isRunning { _ = Foundation.kill(pid, number) }
    }

    func kill() { try? control.fileHandleForWriting.close() }

    /// Waits for its end; `nil` when it still runs after `limit`.
    func end(within limit: Duration = .seconds(60)) async -> Output? {
        let known = code.withLock { $0 }
        if known == nil {
            let found = await withTaskGroup { group in
                group.addTask { [ended] in await ended.first { _ in true } }
                group.addTask {
                    try? await Task.sleep(for: limit)
                    return nil
                }
                let first = await group.next() ?? nil
                group.cancelAll()
                return first
            }
            code.withLock { $0 = $0 ?? found }
        }
        return code.withLock { $0 }.map { Output(code: $0, out: out, err: err) }
    }

    /// Waits until its log holds `text`.
    func waitForLog(_ text: String, within limit: Duration = .seconds(30)) async throws {
        try await eventually("'\(text)' in the log", within: limit) { err.contains(text) }
    }
}

struct NeverHappened: Error, CustomStringConvertible { var description: String }

/// Another process's state can only be asked for again and again.
func eventually(
    _ what: String, within limit: Duration = .seconds(30), _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw NeverHappened(description: "\(what): not within \(limit)") }
        try await Task.sleep(for: .milliseconds(20))
    }
}
