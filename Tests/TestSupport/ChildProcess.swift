internal import CSpawn
import Foundation
import Synchronization

/// A process that a test starts and waits for.
///
/// Foundation's `Process` cannot be used. On Linux (Swift 6.3) it reads past the end of glibc's buffer when it lists
/// `/proc/self/fd`. A process with more than a thousand descriptors, such as the whole test suite, then sometimes
/// crashes (swift-corelibs-foundation, pull request 5472).
public final class ChildProcess: Sendable {
    public struct Output: Sendable {
        /// The program's own exit code, or 128 + the signal that ended it.
        public var code: Int32
        public var out: String
    }

    public struct NotStarted: Error, CustomStringConvertible {
        public var description: String
    }

    private struct State {
        var code: Int32?
        var waiting: [AsyncStream<Never>.Continuation] = []
    }
    private let state = Mutex(State())

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - arguments: the first one is looked up in PATH.
    ///   - environment: ours if nil.
    ///   - directory: the working directory; ours if nil.
    ///   - input: a descriptor, lent for this call; `/dev/null` if nil. The same holds for `output` and `errors`.
    public init(
        _ arguments: [String], environment: [String: String]? = nil, directory: String? = nil, input: Int32? = nil,
        output: Int32? = nil, errors: Int32? = nil
    ) throws {
        let pid = try Self.spawn(
            arguments, environment: environment, directory: directory, input: input, output: output, errors: errors)
        Thread.detachNewThread { [self, pid] in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7f
            ended(with: signal == 0 ? (status >> 8) & 0xff : 128 + signal)
        }
    }

    /// Starts a process. The caller must wait for it.
    ///
    /// The child gets only the three descriptors, because a test would wait for ever if another test's child kept its
    /// pipe open. No signal is blocked or ignored in the child.
    static func spawn(
        _ arguments: [String], environment: [String: String]? = nil, directory: String? = nil, input: Int32? = nil,
        output: Int32? = nil, errors: Int32? = nil
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (number, descriptor) in [input, output, errors].enumerated() {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            }
        }
        cspawn_addclosefrom(&actions, 3)
        if let directory { cspawn_addchdir(&actions, directory) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        // Use a process group of its own, because a terminal's interrupt is only for the tests.
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        let program = arguments.first ?? ""
        var pid = pid_t()
        let failure = Self.withStrings(arguments) { arguments in
            Self.withStrings((environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" }) {
                posix_spawnp(&pid, program, &actions, &attributes, arguments, $0)
            }
        }
        guard failure == 0 else {
            throw NotStarted(description: "\(program): \(String(cString: strerror(failure)))")
        }
        return pid
    }

    private static func withStrings<R>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        var pointers = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(&pointers)
    }

    /// The exit code. Nil while the process runs.
    public var code: Int32? { state.withLock { $0.code } }

    private func ended(with code: Int32) {
        let waiting = state.withLock { state in
            state.code = code
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.finish() }
    }

    /// Waits until the process has ended or the task is cancelled. Each wait has its own stream, because a cancelled
    /// wait ends its stream.
    public func wait() async {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        let isOver = state.withLock { state in
            if state.code == nil { state.waiting.append(continuation) }
            return state.code != nil
        }
        if !isOver { for await _ in stream {} }
    }

    /// Runs a process to its end. Its output goes to a file, because a pipe would need a reader meanwhile.
    public static func run(
        _ arguments: [String], environment: [String: String]? = nil
    ) async throws -> Output {
        let file = FileManager.default.temporaryDirectory.appending(path: "lamp-child-\(UUID())")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try FileHandle(forWritingTo: file)
        let child = try ChildProcess(arguments, environment: environment, output: output.fileDescriptor)
        await child.wait()
        try output.close()
        guard let code = child.code else { throw CancellationError() }
        return Output(code: code, out: String(decoding: try Data(contentsOf: file), as: UTF8.self))
    }
}
