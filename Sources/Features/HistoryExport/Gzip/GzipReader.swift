internal import CZlib

public enum GzipError: Error, Sendable, Hashable { case broken }

/// Reads what gzip has compressed, as it comes. Several such texts one after the other are one text.
public struct GzipReader: ~Copyable {
    private static let chunk = 1 << 16

    /// zlib keeps a pointer to the stream in its state, so the stream must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether the bytes so far end where a text ends.
    public private(set) var isWhole = true

    public init() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Fails only without memory.
        precondition(czlib_inflate_init(stream) == Z_OK, "zlib: out of memory")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Takes compressed bytes, and returns the bytes that they hold.
    public mutating func add(_ bytes: [UInt8]) throws(GzipError) -> [UInt8] {
        var bytes = bytes
        var out: [UInt8] = []
        var status = Z_OK
        bytes.withUnsafeMutableBufferPointer { input in
            stream.pointee.next_in = input.baseAddress
            stream.pointee.avail_in = UInt32(input.count)
            var isFull = true
            while status == Z_OK, isFull || stream.pointee.avail_in > 0 {
                if isWhole, stream.pointee.avail_in == 0 { break }
                if isWhole { status = inflateReset(stream) }
                isWhole = false
                out += [UInt8](unsafeUninitializedCapacity: Self.chunk) { room, count in
                    stream.pointee.next_out = room.baseAddress
                    stream.pointee.avail_out = UInt32(room.count)
                    status = inflate(stream, Z_NO_FLUSH)
                    count = room.count - Int(stream.pointee.avail_out)
                    isFull = stream.pointee.avail_out == 0
                }
                if status == Z_STREAM_END { (isWhole, status) = (true, Z_OK) }
            }
            stream.pointee.next_in = nil
        }
        // There is no error if zlib only waits for more bytes.
        guard status == Z_OK || status == Z_BUF_ERROR else { throw .broken }
        return out
    }
}
