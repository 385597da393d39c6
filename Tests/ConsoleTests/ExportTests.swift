import Answers
import StrictJSON
import Synchronization
import Testing

@testable import Console

/// A list as a file.
@Suite struct ExportTests {
    @Test func `a file has a column for each member, and no cell that a spreadsheet runs`() async throws {
        let rows = try [#"{"name":"=1+1","tokens":2,"why":null}"#, #"{"name":"a \"b\", c","more":{"x":[1]}}"#].map {
            try JSONDocument($0).root.object()
        }
        let columns = ["name", "tokens", "why", "more", "more.x"]
        let file = Export(.csv, columns, first: .init(rows: rows)) { _ in throw CancellationError() }
        let text = String(decoding: try #require(await file.piece()), as: UTF8.self)
        let lines = ["name,tokens,why,more,more.x", "'=1+1,2,,,", #""a ""b"", c",,,"{""x"":[1]}",[1]"#]
        #expect(text.split(separator: "\r\n").map(String.init) == lines)
        #expect(await file.piece() == nil)
    }

    private final class Count: Sendable {
        private let number = Mutex(0)
        var value: Int { number.withLock(\.self) }
        func add() { number.withLock { $0 += 1 } }
    }

    /// A list of this many pages, of which the filter picks so many rows each. It counts the pages that are read.
    private func list(
        _ kind: Export.Kind = .ndjson, pages: Int, rows: Int, of row: String = #"{"n":1}"#,
        patience: Duration = Bulk.patience, fails: Bool = false
    ) throws -> (file: Export, read: Count) {
        let read = Count()
        let found = Array(repeating: try JSONDocument(row).root.object(), count: rows)
        let file = Export(kind, ["n"], first: .init(rows: found, next: "1"), patience: patience) { position in
            if fails { throw CancellationError() }
            read.add()
            let number = Int(position) ?? 0
            return .init(rows: found, next: number + 1 < pages ? "\(number + 1)" : nil)
        }
        return (file, read)
    }

    @Test func `a file is read page by page, and no further than its reader`() async throws {
        let (file, read) = try list(pages: 4, rows: 2)
        for number in 0..<4 {
            #expect(try #require(await file.piece()).count == 2 * 8)
            #expect(read.value == number)
        }
        #expect(await file.piece() == nil)
        // A filter that picks nothing of a page: the caller can look whether the reader is still there.
        #expect(try await list(pages: 9, rows: 0).file.piece()?.isEmpty == true)
    }

    @Test func `a file that ends before the list says so in its last line`() async throws {
        func last(_ file: Export) async throws -> (line: String, lines: Int, bytes: Int) {
            var bytes: [UInt8] = []
            while let piece = await file.piece() { bytes += piece }
            let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            return (String(decoding: try #require(lines.last), as: UTF8.self), lines.count, bytes.count)
        }
        let late = try list(pages: .max, rows: 3, patience: .zero)
        let (line, lines, _) = try await last(late.file)
        #expect(line.hasPrefix(#"{"incomplete":"This file is not complete. It took too long."#) && lines == 4)
        #expect(late.read.value == 0)
        let long = try await last(try list(.csv, pages: .max, rows: 3_000).file)
        #expect(long.line.contains("10000 entries at most") && long.lines == 1 + Export.most + 1)
        let row = #"{"n":"\#(String(repeating: "x", count: 1 << 20))"}"#
        let wide = try await last(try list(pages: .max, rows: 10, of: row).file)
        #expect(wide.line.contains("64 MB at most") && wide.bytes < Export.mostBytes + 200)
        let broken = try await last(try list(.csv, pages: .max, rows: 1, fails: true).file)
        #expect(broken.line.contains("This file is not complete. The gateway could not read on."))
        let whole = try await last(try list(pages: 3, rows: 1).file)
        #expect(whole.line == #"{"n":1}"# && whole.lines == 3)
    }

    @Test(arguments: [
        ("=dev", "'=dev"), ("'=dev", "''=dev"), ("a;=1+1;", "a;'=1+1;"), ("＝1+1", "'＝1+1"), ("a\n-1", "a\n'-1"),
        ("it's", "it's"), ("'", "''"), ("a=b", "a=b"), ("\t\t=", "'\t'\t'="), ("", ""), ("''", "'''"),
        ("a;'b", "a;''b"), ("\r\n@", "'\r\n'@"),
    ])
    func `a cell that a spreadsheet would run is guarded, and comes back`(text: String, cell: String) {
        #expect(CSVCell.guarded(text) == cell && CSVCell.unguarded(cell) == text)
    }

    @Test func `a range has both of its days`() {
        let range = DayRange(Form("from=2026-11-21&to=2026-11-22"))
        #expect(range.from == "2026-11-21T00:00:00" && range.to == "2026-11-23T00:00:00")
        #expect(range.contains("2026-11-22T23:59:59.999Z") && !range.contains("2026-11-23T00:00:00.000Z"))
        #expect(!range.contains("2026-11-20T23:59:59.999Z"))
        #expect(DayRange(Form("from=soon&to=2026-13-41")).from == nil)
        #expect(DayRange(Form("")).contains("2026-11-22T00:00:00.000Z"))
    }
}
