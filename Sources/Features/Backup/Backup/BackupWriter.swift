import LiveActivity
import OpenSSL
public import Store
import StrictJSON

/// Writes a backup file: the header's line, then chunks of lines, one for each entry.
///
/// Without a key a chunk ends with a line `{"check":"…","entries":N}`: the SHA-256 over the check before and the chunk,
/// and how many entries there are so far. With a key a chunk is four bytes, its sealed length, and the sealed lines.
/// The last chunk has an `end` in place of `check`, or the highest bit of its length is set. So a reader notices that a
/// file is cut, changed or put together in another order, before it uses the chunk.
public struct BackupWriter {
    /// A chunk that is longer is written.
    static let chunkBytes = 1 << 20
    static let lastChunk: UInt32 = 1 << 31

    private let header: BackupHeader
    private let cipher: AuthenticatedCipher?
    private let context: [UInt8]
    private var number: UInt64 = 0
    private var chunk: [UInt8] = []
    private var check: [UInt8]
    public private(set) var entries = 0
    private let write: ([UInt8]) throws -> Void

    /// Writes the header.
    /// - Parameter write: appends bytes to the file.
    public init(_ header: BackupHeader, key: BackupKey?, _ write: @escaping ([UInt8]) throws -> Void) throws {
        self.header = header
        self.write = write
        let line = header.line
        cipher = header.salt.flatMap { salt in key.map { $0.cipher(salt) } }
        context = Array(SHA256Digest(of: line))
        check = context
        try write(line + [UInt8(ascii: "\n")])
    }

    public mutating func append(_ app: String, _ entry: BackupEntry) throws {
        entry.write(app, to: &chunk)
        entries += 1
        if chunk.count >= Self.chunkBytes { try flush(isLast: false) }
    }

    /// Writes the last chunk. A file without it counts as cut off.
    public mutating func finish() throws { try flush(isLast: true) }

    private mutating func flush(isLast: Bool) throws {
        if let cipher {
            let context = context + [isLast ? 1 : 0]
            let sealed = cipher.seal(chunk, number: number, context: context)
            let length = UInt32(sealed.count) | (isLast ? Self.lastChunk : 0)
            try write(withUnsafeBytes(of: length.bigEndian) { Array($0) } + sealed)
        } else {
            check = Array(SHA256Digest(of: check + chunk))
            let line = JSON.fields([
                isLast ? "end" : "check": .string(Hex.encode(check)), "entries": .integer(entries),
            ])
            try write(chunk + line.bytes + [UInt8(ascii: "\n")])
        }
        number += 1
        chunk.removeAll(keepingCapacity: true)
    }
}
