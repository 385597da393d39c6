import LiveActivity
import OpenSSL
public import Store
import StrictJSON

/// Reads a backup file chunk by chunk. It returns the entries of a chunk only if the whole chunk is as it was written.
public struct BackupReader {
    /// The longest chunk that is believed: one entry may be longer than `BackupWriter.chunkBytes`.
    private static let longestChunk = 64 << 20
    private static let newline = UInt8(ascii: "\n")

    public private(set) var header: BackupHeader
    private let cipher: AuthenticatedCipher?
    private let context: [UInt8]
    private var number: UInt64 = 0
    private var check: [UInt8]
    private var input: Input
    private var isAtEnd = false
    /// Entries of the chunks that were returned.
    public private(set) var entries = 0
    /// Bytes of the file that were read.
    public var bytesRead: Int { input.bytesRead }

    /// Reads the header.
    /// - Parameter read: returns the next bytes of the file, empty at its end.
    public init(key: BackupKey?, _ read: @escaping () throws -> [UInt8]) throws(BackupError) {
        input = Input(read: read)
        guard let line = try input.line(most: BackupHeader.maximumBytes) else { throw .notABackup }
        header = try BackupHeader(line: line)
        context = Array(SHA256Digest(of: line))
        check = context
        guard let salt = header.salt else {
            if key != nil { throw .notEncrypted }
            cipher = nil
            return
        }
        guard let key else { throw .needsKey }
        guard key.check(salt) == header.keyCheck else { throw .wrongKey }
        cipher = key.cipher(salt)
    }

    /// The entries of the next chunk, each with its app. Nil behind the last chunk.
    public mutating func next() throws(BackupError) -> [(app: String, entry: BackupEntry)]? {
        if isAtEnd { return nil }
        let chunk: [UInt8]
        if let cipher { chunk = try sealedChunk(cipher) } else { chunk = try plainChunk() }
        var found: [(app: String, entry: BackupEntry)] = []
        for line in chunk.split(separator: Self.newline) {
            do { found.append(try BackupEntry.read(Array(line))) } catch {
                throw .broken("entry \(entries + found.count + 1): \(error)")
            }
        }
        entries += found.count
        number += 1
        if isAtEnd, try !input.isAtEnd() { throw .broken("there is something behind its end") }
        return found
    }

    private mutating func sealedChunk(_ cipher: AuthenticatedCipher) throws(BackupError) -> [UInt8] {
        guard let head = try input.bytes(4) else { throw .truncated }
        let length = head.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let isLast = length & BackupWriter.lastChunk != 0
        let count = Int(length & ~BackupWriter.lastChunk)
        guard count >= AuthenticatedCipher.tagBytes, count <= Self.longestChunk else {
            throw .broken("chunk \(number + 1) has an impossible length")
        }
        guard let sealed = try input.bytes(count) else { throw .truncated }
        guard let chunk = cipher.open(sealed, number: number, context: context + [isLast ? 1 : 0]) else {
            throw .broken("chunk \(number + 1) was changed, or is not where it belongs")
        }
        isAtEnd = isLast
        return chunk
    }

    private mutating func plainChunk() throws(BackupError) -> [UInt8] {
        var chunk: [UInt8] = []
        var count = 0
        while let line = try input.line(most: Self.longestChunk) {
            let isEnd = line.starts(with: #"{"end":"#.utf8)
            guard isEnd || line.starts(with: #"{"check":"#.utf8) else {
                chunk += line + [Self.newline]
                count += 1
                guard chunk.count <= Self.longestChunk else { throw .broken("chunk \(number + 1) has no end") }
                continue
            }
            check = Array(SHA256Digest(of: check + chunk))
            let expected = JSON.fields([
                isEnd ? "end" : "check": .string(Hex.encode(check)), "entries": .integer(entries + count),
            ])
            guard line == expected.bytes else {
                throw .broken("entries \(entries + 1) to \(entries + count) were changed, or lines are missing")
            }
            isAtEnd = isEnd
            return chunk
        }
        throw .truncated
    }

    /// The file's bytes, in pieces.
    private struct Input {
        let read: () throws -> [UInt8]
        var buffer: [UInt8] = []
        var start = 0
        var bytesRead = 0

        /// - Returns: false at the end of the file
        mutating func more() throws(BackupError) -> Bool {
            let piece: [UInt8]
            do { piece = try read() } catch {
                throw error as? BackupError ?? .file("the file cannot be read: \(error)")
            }
            if start > 0 {
                buffer.removeFirst(start)
                start = 0
            }
            buffer += piece
            bytesRead += piece.count
            return !piece.isEmpty
        }

        mutating func isAtEnd() throws(BackupError) -> Bool {
            if start < buffer.count { return false }
            return try !more()
        }

        mutating func bytes(_ count: Int) throws(BackupError) -> [UInt8]? {
            while buffer.count - start < count { if try !more() { return nil } }
            defer { start += count }
            return Array(buffer[start..<start + count])
        }

        /// The next line without its newline. Nil: the file ends before.
        mutating func line(most: Int) throws(BackupError) -> [UInt8]? {
            var from = start
            while true {
                if let end = buffer[from...].firstIndex(of: BackupReader.newline) {
                    defer { start = end + 1 }
                    return Array(buffer[start..<end])
                }
                let scanned = buffer.count - start
                guard scanned <= most else { return nil }
                if try !more() { return nil }
                from = start + scanned
            }
        }
    }
}
