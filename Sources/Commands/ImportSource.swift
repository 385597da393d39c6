import ArgumentParser
import Foundation
import Synchronization

/// What `import` uploads: the file in pieces, CSV turned into NDJSON on the way. Memory does not grow with the file.
/// `next` runs on the transfer's thread, everything else after the transfer.
final class ImportSource: Sendable {
    private static let pieceBytes = 256 << 10

    private struct State {
        var reader: FileHandle
        var csv: CSVLines?
        /// Read already, to tell the format.
        var pending: [UInt8]
        var bytesRead = 0
        /// What stopped the reading: the transfer only knows that it was stopped.
        var failure: (any Error)?
        var bar = ProgressBar()
    }

    private let state: Mutex<State>
    /// Bytes of the file; nil for a pipe.
    private let size: Int?

    init(path: String, format: ImportFormat?) throws {
        let reader: FileHandle
        if path == "-" {
            reader = .standardInput
            size = nil
        } else {
            guard let file = FileHandle(forReadingAtPath: path) else { throw ValidationError("cannot read \(path)") }
            reader = file
            size = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int
        }
        let first = [UInt8](try reader.read(upToCount: Self.pieceBytes) ?? Data())
        let looksLikeJSON = first.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "{")
        let isCSV = format.map { $0 == .csv } ?? !(looksLikeJSON || first.isEmpty)
        state = Mutex(State(reader: reader, csv: isCSV ? CSVLines() : nil, pending: first))
    }

    /// The next piece, empty at the end.
    func next() throws -> [UInt8] {
        do {
            return try read()
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    var failure: (any Error)? { state.withLock { $0.failure } }

    private func read() throws -> [UInt8] {
        try state.withLock { state in
            while true {
                let piece: [UInt8]
                if state.pending.isEmpty {
                    piece = [UInt8](try state.reader.read(upToCount: Self.pieceBytes) ?? Data())
                } else {
                    piece = state.pending
                    state.pending = []
                }
                state.bytesRead += piece.count
                let share = size.map { $0 == 0 ? 1 : Double(state.bytesRead) / Double($0) }
                state.bar.draw(share, "\(Terminal.grouped(state.bytesRead / 1_000)) kB sent")
                guard state.csv != nil else { return piece }
                let out = try piece.isEmpty ? state.csv?.finish() : state.csv?.feed(piece)
                // A piece may hold no whole line; only the end may be answered with nothing.
                if piece.isEmpty || out?.isEmpty == false { return out ?? [] }
            }
        }
    }

    /// The file's line of an uploaded one, both from 1.
    func line(of uploaded: Int) -> Int { state.withLock { $0.csv?.line(of: uploaded) ?? uploaded } }

    var rejected: [ImportCommand.Result.Rejected] { state.withLock { $0.csv?.rejected ?? [] } }

    func abandon() { state.withLock { $0.bar.abandon() } }

    func finish() {
        state.withLock { $0.bar.draw(1, "\(Terminal.grouped($0.bytesRead / 1_000)) kB sent", isLast: true) }
    }
}
