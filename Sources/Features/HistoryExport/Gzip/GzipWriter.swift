internal import CZlib

/// Compresses bytes as gzip does (RFC 1952), as they come. The head holds no name and no time, so that equal bytes
/// have an equal head.
public struct GzipWriter: ~Copyable {
    private static let chunk = 1 << 16

    /// zlib keeps a pointer to the stream in its state, so the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Parameter level: from 1, the fastest, to 9, the smallest
    public init(level: Int32 = 6) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Fails only without memory.
        precondition(czlib_deflate_init(stream, level) == Z_OK, "zlib: out of memory")
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Takes bytes, and returns the compressed bytes that are ready.
    public mutating func add(_ bytes: [UInt8]) -> [UInt8] { run(bytes, Z_NO_FLUSH) }

    /// Returns the rest. Nothing may be added after it.
    public mutating func finish() -> [UInt8] { run([], Z_FINISH) }

    private mutating func run(_ bytes: [UInt8], _ flush: Int32) -> [UInt8] {
        var bytes = bytes
        var out: [UInt8] = []
        bytes.withUnsafeMutableBufferPointer { input in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            var isFull = true
            while isFull {
                out += [UInt8](unsafeUninitializedCapacity: Self.chunk) { room, count in
                    stream.pointee.next_out = room.baseAddress
                    stream.pointee.avail_out = UInt32(room.count)
                    _ = deflate(stream, flush)
                    count = room.count - Int(stream.pointee.avail_out)
                    isFull = stream.pointee.avail_out == 0
                }
            }
            stream.pointee.next_in = nil
        }
        return out
    }
}
