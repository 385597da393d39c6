import Glibc
import Gzip

/// A file of the export while it is written. It has the name of a part, which no reader looks for.
final class ExportFile {
    let part: String
    private let descriptor: Int32
    private var gzip = GzipWriter()
    private(set) var lines = 0

    init(_ part: String) throws(ExportError) {
        self.part = part
        descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw .system(part) }
    }

    deinit { close(descriptor) }

    /// - Parameter line: with its newline
    func add(_ line: [UInt8]) throws(ExportError) {
        try Self.write(gzip.add(line), descriptor, part)
        lines += 1
    }

    /// Writes the end. The disk need not have it yet.
    /// - Returns: the descriptor, which is open as long as this object lives
    func finish() throws(ExportError) -> Int32 {
        try Self.write(gzip.finish(), descriptor, part)
        return descriptor
    }

    static func write(_ bytes: [UInt8], _ descriptor: Int32, _ path: String) throws(ExportError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw .system(path) }
            rest = rest.dropFirst(max(0, count))
        }
    }
}

extension ExportError {
    /// The last call of the system failed.
    static func system(_ path: String) -> ExportError { .file(path, why: String(cString: strerror(errno))) }
}
