private import FoundationEssentials
internal import Glibc

/// The few calls on files that the certificates need, with the modes that private keys need.
enum Files {
    static func makeDirectory(_ path: String) throws(SimulatorError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw failure(path, "cannot make the directory")
        }
    }

    /// Holds others out until the descriptor is closed, or until this process ends, however it ends.
    static func lock(_ path: String) throws(SimulatorError) -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(path, "cannot open") }
        while flock(file, LOCK_EX) != 0 {
            guard errno == EINTR else {
                close(file)
                throw failure(path, "cannot lock")
            }
        }
        return file
    }

    static func read(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Whole or not at all: a reader never sees half a file.
    static func write(_ path: String, _ bytes: [UInt8], mode: mode_t) throws(SimulatorError) {
        let temporary = "\(path).new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure(temporary, "cannot create") }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else {
                defer { close(descriptor) }
                throw failure(temporary, "cannot write")
            }
            rest = rest.dropFirst(max(0, count))
        }
        guard close(descriptor) == 0 else { throw failure(temporary, "cannot write") }
        guard rename(temporary, path) == 0 else { throw failure(path, "cannot rename to it") }
    }

    private static func failure(_ path: String, _ text: String) -> SimulatorError {
        .configuration(field: path, "\(text): \(String(cString: strerror(errno)))")
    }
}
