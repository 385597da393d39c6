import Glibc

/// A file that appears under its name only when it is complete: `PATH.part` until then, readable by its owner alone.
struct NewFile {
    let path: String
    private let descriptor: Int32
    private var part: String { path + ".part" }

    /// A dash writes to stdout.
    init(_ path: String) throws {
        self.path = path
        if path == "-" {
            descriptor = STDOUT_FILENO
            return
        }
        let part = path + ".part"
        // One that an earlier backup left may have another owner or mode.
        unlink(part)
        descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(part) }
    }

    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw Self.failure(path == "-" ? "to stdout" : part) }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// Puts the file in its place, after the disk has it.
    func finish() throws {
        if path == "-" { return }
        guard fsync(descriptor) == 0, close(descriptor) == 0, rename(part, path) == 0 else { throw Self.failure(part) }
    }

    func discard() { if path != "-" { unlink(part) } }

    private static func failure(_ path: String) -> CommandFailure {
        CommandFailure(.failed, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
