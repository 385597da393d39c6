internal import CLinux
internal import Glibc
internal import Synchronization

/// Bytes with a path, for libraries that read a file by its name. They are on no disk, last as long as the process, and
/// only this process's user may read them.
public enum MemoryFile {
    private static let folder = "/proc/self/fd/"
    private static let paths = Mutex<[[UInt8]: String]>([:])

    /// - Returns: the path, the same one for the same bytes; nil if the kernel gives no file
    public static func path(of bytes: [UInt8]) -> String? {
        paths.withLock { paths in
            if let known = paths[bytes] { return known }
            guard let path = make(bytes) else { return nil }
            paths[bytes] = path
            return path
        }
    }

    /// Whether `path` has made this path. It says nothing to a person.
    public static func isOne(_ path: String) -> Bool { paths.withLock { $0.values.contains(path) } }

    private static func make(_ bytes: [UInt8]) -> String? {
        let descriptor = clinux_memory_file("lamplighter")
        guard descriptor >= 0 else { return nil }
        // The kernel lets everybody read it at first.
        guard fchmod(descriptor, 0o600) == 0, isWritten(bytes, to: descriptor) else {
            close(descriptor)
            return nil
        }
        return "\(folder)\(descriptor)"
    }

    private static func isWritten(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
