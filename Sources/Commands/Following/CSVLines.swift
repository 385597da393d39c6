import Answers
import LiveActivity
import StrictJSON

/// Turns CSV into NDJSON, line by line. The first line is a header with the keys of NDJSON. Fields may be quoted (""
/// for a quote inside). The apostrophe by which files of the console guard a formula is taken away. A field cannot hold
/// a line break, because no column here needs one.
struct CSVLines {
    let form: CSVForm
    private var header: [String]?
    private var rest: [UInt8] = []
    /// Lines of the file that were read so far.
    private var lineNumber = 0
    /// Lines of the file that were not uploaded, ascending. `line(of:)` skips them.
    private var unwritten: [Int] = []
    private(set) var rejected: [RejectedLine] = []

    init(_ form: CSVForm = .followers) { self.form = form }

    mutating func feed(_ piece: [UInt8]) throws -> [UInt8] {
        var out: [UInt8] = []
        var start = piece.startIndex
        while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
            rest += piece[start..<end]
            try take(&out)
            start = end + 1
        }
        rest += piece[start...]
        guard rest.count <= 64 << 10 else {
            throw CommandFailure(.failed, "line \(lineNumber + 1) is longer than 64 KB")
        }
        return out
    }

    mutating func finish() throws -> [UInt8] {
        var out: [UInt8] = []
        if !rest.isEmpty { try take(&out) }
        return out
    }

    func line(of uploaded: Int) -> Int { uploaded + Self.skipped(unwritten, before: uploaded) }

    /// How many lines were left out before an uploaded one. A server may reject each line of a large file, so this
    /// halves the list instead of walking through it.
    /// - Parameters:
    ///   - lines: the lines that were left out, ascending
    ///   - uploaded: the number of the line among the uploaded lines
    static func skipped<Lines: RandomAccessCollection<Int>>(_ lines: Lines, before uploaded: Int) -> Int {
        var (low, high) = (0, lines.count)
        while low < high {
            let middle = (low + high) / 2
            if lines[lines.index(lines.startIndex, offsetBy: middle)] - middle <= uploaded {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }

    private mutating func take(_ out: inout [UInt8]) throws {
        defer { rest.removeAll(keepingCapacity: true) }
        lineNumber += 1
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        guard let text = String(validating: rest, as: UTF8.self), let fields = Self.fields(text) else {
            return reject("is not CSV: a quote is not closed, or the text is not UTF-8")
        }
        guard let header else {
            self.header = try columns(fields)
            return unwritten.append(lineNumber)
        }
        if rest.isEmpty { return unwritten.append(lineNumber) }
        guard fields.count == header.count else {
            return reject("\(fields.count) fields where the header has \(header.count)")
        }
        let cells = zip(header, fields).filter { !$1.isEmpty }.map { (column: $0, field: CSVCell.unguarded($1)) }
        do throws(CSVProblem) {
            out += JSON.object(try form.members(cells)).bytes + [UInt8(ascii: "\n")]
        } catch {
            reject(error.text)
        }
    }

    private mutating func reject(_ error: String) {
        unwritten.append(lineNumber)
        rejected.append(.init(line: lineNumber, error: error))
    }

    private func columns(_ fields: [String]) throws -> [String] {
        let names = fields.map { $0.lowercased() }
        for name in names where !form.columns.contains(name) {
            let known = form.columns.joined(separator: ", ")
            throw CommandFailure(.failed, "line 1: unknown column '\(name)'; use \(known)")
        }
        if let twice = names.enumerated().first(where: { names[..<$0.offset].contains($0.element) })?.element {
            throw CommandFailure(.failed, "line 1: the header has the column '\(twice)' twice")
        }
        for choice in form.required where !choice.contains(where: names.contains) {
            let columns = choice.map { "'\($0)'" }.joined(separator: " or ")
            throw CommandFailure(.failed, "line 1: the header needs a column \(columns)")
        }
        return names
    }

    /// The fields of a line. Nil if a quote is not closed.
    static func fields(_ line: String) -> [String]? {
        let parts = line.parts(between: UInt8(ascii: "\""))
        var fields = [""]
        for (position, part) in parts.enumerated() {
            // Every second part stands between quotes, and a comma there separates nothing.
            let isQuoted = position % 2 == 1
            // Nothing between two quoted parts: the field holds a quote, written as two.
            let isQuote = !isQuoted && part.isEmpty && position > 0 && position < parts.count - 1
            let cells = isQuoted ? [part] : isQuote ? ["\""] : part.parts(between: UInt8(ascii: ","))
            fields[fields.count - 1] += cells[0]
            fields += cells.dropFirst()
        }
        return parts.count % 2 == 1 ? fields : nil
    }
}
