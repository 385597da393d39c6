import Glibc

/// A file or standard input, read from its beginning to its end.
final class InputFile: Sendable {
    static let standardInput = InputFile(descriptor: STDIN_FILENO)

    private let descriptor: Int32

    /// Opens a file for reading. Nil if it cannot be opened.
    convenience init?(path: String) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        self.init(descriptor: descriptor)
    }

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// The size in bytes. Nil for a pipe.
    var size: Int? {
        var found = stat()
        return fstat(descriptor, &found) == 0 && found.st_mode & S_IFMT == S_IFREG ? Int(found.st_size) : nil
    }

    /// At most `count` bytes. Waits for the first, and is empty only at the end.
    func read(upTo count: Int) throws -> [UInt8] {
        while true {
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
                result = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                length = max(0, result)
            }
            if result >= 0 { return bytes }
            guard errno == EINTR else {
                throw CommandFailure(.failed, "cannot read: \(String(cString: strerror(errno)))")
            }
        }
    }

    func readToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try read(upTo: 1 << 16)
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }
}
