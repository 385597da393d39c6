import Foundation

/// One run of the built `lamplighter`, started like a user starts it. Its output goes to files.
///
/// Its parent is a small shell that reads a pipe of the test process. When the test process ends in any way, the shell
/// kills the program with -9. So no program outlives its test.
public final class Program: Sendable {
    public struct Output: Sendable {
        /// The program's own exit code, or 128 + the signal that ended it.
        public var code: Int32
        public var out: String
        public var err: String
    }

    /// The built program. It is in the same directory as the test's executable.
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
    /// The path of the output files without their endings `.out` and `.err`.
    public let base: String

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: begin with the program's path.
    ///   - directory: receives the output files.
    ///   - environment: the program's environment.
    ///   - name: the name of the output files; a unique one if nil.
    public init(
        _ arguments: [String], directory: String, environment: [String: String], name: String? = nil
    ) throws {
        base = directory + "/" + (name ?? UUID().uuidString)
        // Move the pipe from descriptor 0 to 3, because `sh` gives background jobs /dev/null as their input. The shell
        // would otherwise report on its error output how its children were killed.
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

    /// Waits for the end of the program. Nil if it still runs after `limit`.
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
