import Answers
import StrictJSON

/// The body of a bulk call: one JSON object a line. Lines become entries, which the handler applies batch by batch, and
/// each line that is refused is reported by its number.
struct BulkLines<Entry: Sendable> {
    /// Entries that are applied in one call.
    struct Batch: Sendable {
        fileprivate(set) var entries: [Entry] = []
        /// The line of each entry.
        fileprivate var lineNumbers: [Int] = []
        /// The last line that was read for it, also if that one is no entry.
        fileprivate var lastLine = 0
    }

    /// The longest line: 1,024 digits of a token, 128 bytes of a channel, and room for escapes.
    static var maximumLineBytes: Int { 8 << 10 }
    /// The most rejections that the response lists. All of them are counted.
    static var maximumListed: Int { 1_000 }

    /// The entries of a batch.
    private let batchSize: Int
    private let read: @Sendable ([UInt8]) throws(JSONError) -> Entry
    var lines = LineReader(maximumBytes: BulkLines.maximumLineBytes)
    private var batch = Batch()
    private(set) var appliedLines = 0
    private var line = 0
    private(set) var accepted = 0
    private var stale: Int?
    private var rejected: [(line: Int, problem: String)] = []
    private var rejectedCount = 0

    /// - Parameter countsStale: whether the call has entries that change nothing, because what is stored is newer.
    init(
        batchSize: Int, countsStale: Bool = false, _ read: @escaping @Sendable ([UInt8]) throws(JSONError) -> Entry
    ) {
        (self.batchSize, self.read) = (batchSize, read)
        stale = countsStale ? 0 : nil
    }

    var isFull: Bool { batch.entries.count >= batchSize }

    /// Reads one line. Lines are counted from 1, and empty lines are skipped.
    mutating func take(_ text: LineReader.Line) {
        line += 1
        switch text {
        case .tooLong: reject(line, "is longer than \(Self.maximumLineBytes) bytes")
        case .text(let bytes):
            if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
            do throws(JSONError) {
                batch.entries.append(try read(bytes))
                batch.lineNumbers.append(line)
            } catch {
                reject(line, error.path.isEmpty ? error.message : "\(error.path): \(error.message)")
            }
        }
    }

    /// Hands out the entries that were read since the last call.
    mutating func takeBatch() -> Batch {
        batch.lastLine = line
        defer { batch = Batch() }
        return batch
    }

    /// Notes that a batch was applied, but for some of its entries.
    mutating func applied(_ batch: Batch, _ outcome: BulkOutcome) {
        accepted += batch.entries.count - outcome.refused.count
        stale = stale.map { $0 + outcome.stale }
        for (position, problem) in outcome.refused.sorted(by: { $0.key < $1.key }) {
            reject(batch.lineNumbers[position], problem)
        }
        appliedLines = batch.lastLine
    }

    private mutating func reject(_ line: Int, _ problem: String) {
        rejectedCount += 1
        if rejected.count < Self.maximumListed { rejected.append((line, problem)) }
    }

    /// `accepted` counts the applied lines. `stale` of them changed nothing: what is stored is newer.
    var answer: BulkResultAnswer {
        let listed = rejected.sorted { $0.line < $1.line }
            .map { RejectedLineAnswer(line: $0.line, error: $0.problem) }
        return BulkResultAnswer(accepted: accepted, stale: stale, rejected: listed, rejectedCount: rejectedCount)
    }
}

/// The result of a batch.
struct BulkOutcome: Sendable {
    /// Entries that changed nothing.
    var stale = 0
    /// Why an entry was not applied, by its position in the batch.
    var refused: [Int: String] = [:]
}
