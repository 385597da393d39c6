import Glibc

/// Tells when one of some files was changed or replaced. It compares what `stat` says, so that it also sees a file
/// behind a symbolic link that now leads elsewhere, as Kubernetes replaces secrets.
struct WatchedFiles {
    struct Mark: Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    private(set) var marks: [String: Mark] = [:]

    init(_ paths: [String]) { _ = changes(of: Set(paths)) }

    /// - Returns: the files that differ from the last look; none at the first look at a file
    mutating func changes(of paths: Set<String>) -> Set<String> {
        var changed: Set<String> = []
        var next: [String: Mark] = [:]
        for path in paths {
            // A file that is absent for a moment, while it is replaced, counts as unchanged until it is there again.
            guard let mark = Self.mark(path) ?? marks[path] else { continue }
            if let known = marks[path], known != mark { changed.insert(path) }
            next[path] = mark
        }
        marks = next
        return changed
    }

    private static func mark(_ path: String) -> Mark? {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        return Mark(
            device: UInt64(info.st_dev), inode: UInt64(info.st_ino), size: Int64(info.st_size),
            seconds: info.st_mtim.tv_sec, nanoseconds: info.st_mtim.tv_nsec)
    }
}
