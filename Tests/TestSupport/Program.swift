import Foundation

/// One run of the built `lamplighter`, as a user starts it: its output in files, its end awaited.
///
/// A small shell is its parent and reads a pipe of ours: when this process ends in any way at all, the shell kills the
/// program with -9, so that none outlives its test.
public final class Program: Sendable {
    public struct Output: Sendable {
        /// The program's own, or 128 + the signal that ended it.
        public var code: Int32
        public var out: String
        public var err: String
    }

    /// Beside the test's own executable: the build's products lie together.
    public static let path: String = {
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

    private let shell: ChildProcess
    private let control = Pipe()
    /// Its output is in this path with `.out` and `.err`.
    public let base: String

    /// `directory` receives the output files, called `name` or something unique; `arguments` begin with the program's path.
    public init(
        _ arguments: [String], directory: String, environment: [String: String], name: String? = nil
    ) throws {
        base = directory + "/" + (name ?? UUID().uuidString)
        // The pipe comes as 0 and is moved, for `sh` gives background jobs /dev/null. The shell would report on its error
        // output how its children were killed.
        shell = try ChildProcess(
            ["sh", "-c", "exec 3<&0\n" + Self.watchdog, "sh", base] + arguments,
            environment: environment.merging(["PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]) { own, _ in
                own
            },
            directory: directory, input: control.fileHandleForReading.fileDescriptor)
    }

    deinit { kill() }

    public var out: String { (try? String(contentsOfFile: base + ".out", encoding: .utf8)) ?? "" }
    public var err: String { (try? String(contentsOfFile: base + ".err", encoding: .utf8)) ?? "" }

    public var pid: Int32 {
        (try? String(contentsOfFile: base + ".pid", encoding: .utf8)).flatMap { pid_t($0.dropLast()) } ?? 0
    }

    public func signal(_ number: Int32) {
        let pid = pid
        if pid > 0, shell.code == nil { _ = Foundation.kill(pid, number) }
    }

    public func kill() { try? control.fileHandleForWriting.close() }

    /// Waits for its end; `nil` when it still runs after `limit`.
    public func end(within limit: Duration = .seconds(120)) async -> Output? {
        await withTaskGroup { group in
            group.addTask { [shell] in await shell.wait() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        return shell.code.map { Output(code: $0, out: out, err: err) }
    }

    /// Waits until its log holds `text`.
    public func waitForLog(_ text: String) async throws {
        try await eventually("'\(text)' in the log") { err.contains(text) }
    }
}

public struct NeverHappened: Error, CustomStringConvertible {
    public var description: String

    public init(description: String) { self.description = description }
}

/// Another process's state can only be asked for again and again. The limit is for what never comes: it is longer than the
/// busiest machine should need.
public func eventually(
    _ what: String, within limit: Duration = .seconds(120), _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw NeverHappened(description: "\(what): not within \(limit)") }
        try await Task.sleep(for: .milliseconds(20))
    }
}
