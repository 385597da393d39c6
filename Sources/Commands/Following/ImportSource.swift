import ArgumentParser
import LiveActivity
import Synchronization

/// The upload of `import`: reads the file in pieces and turns CSV into NDJSON. Memory does not grow with the file.
/// `next` runs on the transfer's thread. Everything else runs after the transfer.
final class ImportSource: Sendable {
    private static let pieceBytes = 256 << 10

    private struct State {
        var reader: InputFile
        var csv: CSVLines?
        /// The bytes of `length` that are still to be sent.
        var left: Int?
        /// Bytes that were already read to detect the format.
        var pending: [UInt8]
        var bytesRead = 0
        /// The error that stopped the reading. The transfer itself only knows that it was stopped.
        var failure: (any Error)?
        var bar = ProgressBar()
    }

    private let state: Mutex<State>
    /// The file's size in bytes. Nil for a pipe.
    private let size: Int?
    /// The length of the upload, so that the gateway knows how many lines come. Nil: nobody knows it before the end.
    let length: Int?

    init(path: String, format: ImportFormat?, form: CSVForm) throws {
        let reader: InputFile
        if path == "-" {
            reader = .standardInput
            size = nil
        } else {
            guard let file = InputFile(path: path) else { throw ValidationError("cannot read \(path)") }
            reader = file
            size = file.size
        }
        // A pipe may give its first bytes one by one.
        var head = try reader.read(upTo: Self.pieceBytes)
        while head.count < 8, case let more = try reader.read(upTo: Self.pieceBytes), !more.isEmpty { head += more }
        if let form = TextForm.foreign(head) {
            throw CommandFailure(.failed, "\(path == "-" ? "the input" : path) is no text in UTF-8: \(form)")
        }
        let first = TextForm.unmarked(head)
        let looksLikeJSON = first.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "{")
        let isCSV = format.map { $0 == .csv } ?? !(looksLikeJSON || first.isEmpty)
        // Without the mark at its beginning. Of a file that grows meanwhile, the upload has the part that was there.
        length = isCSV ? nil : size.flatMap { $0 == 0 ? nil : $0 - (head.count - first.count) }
        state = Mutex(State(reader: reader, csv: isCSV ? CSVLines(form) : nil, left: length, pending: first))
    }

    /// The next piece. Empty at the end.
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
                var piece =
                    try state.pending.isEmpty
                    ? state.reader.read(upTo: Self.pieceBytes) : state.pending
                state.pending = []
                if let left = state.left {
                    // The gateway would wait for the rest.
                    if piece.isEmpty, left > 0 { throw CommandFailure(.failed, "the file became shorter meanwhile") }
                    piece = Array(piece.prefix(left))
                    state.left = left - piece.count
                }
                state.bytesRead += piece.count
                let share = size.map { $0 == 0 ? 1 : Double(state.bytesRead) / Double($0) }
                state.bar.draw(share, "\(Terminal.grouped(state.bytesRead / 1_000)) kB sent")
                guard state.csv != nil else { return piece }
                let out = try piece.isEmpty ? state.csv?.finish() : state.csv?.feed(piece)
                // A piece may hold no whole line. Read on then, because an empty result means the end.
                if piece.isEmpty || out?.isEmpty == false { return out ?? [] }
            }
        }
    }

    /// The line of the file for an uploaded line. Both count from 1.
    func line(of uploaded: Int) -> Int { state.withLock { $0.csv?.line(of: uploaded) ?? uploaded } }
    var rejected: [RejectedLine] { state.withLock { $0.csv?.rejected ?? [] } }
    func abandon() { state.withLock { $0.bar.abandon() } }

    func finish() {
        state.withLock { $0.bar.draw(1, "\(Terminal.grouped($0.bytesRead / 1_000)) kB sent", isLast: true) }
    }
}
