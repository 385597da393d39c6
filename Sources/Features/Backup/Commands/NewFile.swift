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
        // The rename at the end would replace a device, and fail at a directory.
        var there = stat()
        if stat(path, &there) == 0, there.st_mode & S_IFMT != S_IFREG {
            throw Self.failure(path, "it is not a regular file; a dash writes to stdout")
        }
        descriptor = try Self.open(path + ".part")
    }

    func write(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw Self.failure(path == "-" ? "to stdout" : part) }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// Puts the file in its place, after the disk has it. The lock holds until then.
    func finish() throws {
        if path == "-" { return }
        guard fsync(descriptor) == 0, rename(part, path) == 0 else { throw Self.failure(part) }
        close(descriptor)
    }

    func discard() {
        if path == "-" { return }
        unlink(part)
        close(descriptor)
    }

    /// Makes the file and locks it. One that an earlier backup left may have another owner or other rights, so it is
    /// removed. One whose lock is held belongs to a backup that runs.
    private static func open(_ part: String) throws -> Int32 {
        while true {
            var descriptor = Glibc.open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            let isMine = descriptor >= 0
            if !isMine {
                guard errno == EEXIST else { throw failure(part) }
                descriptor = Glibc.open(part, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
                if descriptor < 0, errno == ENOENT { continue }
                guard descriptor >= 0 else { throw failure(part) }
            }
            if flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK {
                close(descriptor)
                throw failure(part, "another backup is writing it")
            }
            // Another backup may have put this file in its place, or removed it, before the lock.
            var (held, there) = (stat(), stat())
            let isThere =
                fstat(descriptor, &held) == 0 && lstat(part, &there) == 0
                && (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino)
            if isThere, isMine { return descriptor }
            if isThere, unlink(part) != 0 {
                let error = failure(part)
                close(descriptor)
                throw error
            }
            close(descriptor)
        }
    }

    private static func failure(_ path: String, _ reason: String? = nil) -> CommandFailure {
        CommandFailure(.failed, "cannot write \(path): \(reason ?? String(cString: strerror(errno)))")
    }
}
