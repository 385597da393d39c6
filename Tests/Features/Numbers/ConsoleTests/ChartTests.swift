import Answers
import LiveActivity
import StrictJSON
import Synchronization
import Testing

@testable import Console

@Suite struct ChartTests {
    private func chart(since: Int64 = 0) -> Chart {
        var chart = Chart(from: 1_000, step: 100, count: 4, since: since) { "t\($0)" }
        chart.link = { "/pushes?from=\($0)" }
        chart.add(Chart.Sum(pushes: 2, outcomes: Outcomes(targets: 100, [.delivered: 70, .failed: 20])), at: 1_099)
        chart.add(Chart.Sum(pushes: 1, outcomes: Outcomes(targets: 50, [.delivered: 50])), at: 1_300)
        chart.addBefore(Chart.Sum(pushes: 1, outcomes: Outcomes(targets: 25, [.delivered: 25])), at: 1_200)
        // Neither of them is in the chart.
        chart.add(Chart.Sum(pushes: 9, outcomes: Outcomes(targets: 9)), at: 999)
        chart.add(Chart.Sum(pushes: 9, outcomes: Outcomes(targets: 9)), at: 1_400)
        return chart
    }

    private func bars(_ values: Values) throws -> [[String: Any]] { try #require(values["bars"] as? [[String: Any]]) }
    private func parts(_ bar: [String: Any]) throws -> [[String: String]] {
        try #require(bar["parts"] as? [[String: String]])
    }

    @Test func `bars stand on each other, reach as high as their count, and lead to their pushes`() throws {
        let drawn = chart().deliveries
        let bars = try bars(drawn)
        #expect(bars.count == 3 && drawn["top"] as? String == "100")
        let parts = try parts(bars[0])
        #expect(parts.map { $0["name"] } == ["delivered", "failed", "rest"])
        #expect(parts.map { $0["y"] } == ["30.00", "10.00", "0.00"])
        #expect(parts.map { $0["height"] } == ["70.00", "20.00", "10.00"])
        #expect(bars[0]["title"] as? String == "t1000: 70 delivered of 100, 20 failed")
        #expect(bars[0]["pushesPath"] as? String == "/pushes?from=1000")
        // Nothing was sent then, but a week before.
        #expect(try self.parts(bars[1]).map { $0["name"] } == ["before"])
        #expect((bars[1]["title"] as? String)?.hasSuffix("; a week before 25") == true && bars[1]["pushesPath"] == nil)
        let last = try self.parts(bars[2])
        #expect(last.count == 1 && last[0]["height"] == "50.00" && last[0]["x"] == "78.00")
    }

    @Test func `a span of which nothing is known is hatched, one without a push is empty`() throws {
        let chart = chart(since: 1_050)
        #expect(!chart.hasUnknown, "the first span has pushes all the same")
        let later = self.chart(since: 1_201)
        #expect(later.hasUnknown)
        let bars = try bars(later.pushes)
        #expect(try parts(bars[1]).map { $0["name"] } == ["unknown"])
        #expect(bars[1]["title"] as? String == "t1100: not counted, or no longer kept")
    }

    @Test(arguments: [3_600_000, 86_400_000] as [Int64])
    func `weeks are compared by the spans that are over and known of both weeks`(step: Int64) throws {
        let begin = 10 * Chart.week
        var chart = Chart(
            from: begin, step: step, count: 4, since: begin - Chart.week + step, now: begin + 4 * step - 1
        ) { "t\($0)" }
        for (index, count) in [1, 10, 100, 1_000].enumerated() {
            let time = begin + Int64(index) * step
            chart.add(Chart.Sum(pushes: count), at: time)
            chart.addBefore(Chart.Sum(pushes: 2 * count), at: time)
        }
        let compared = try #require(chart.compared)
        // The first span is not known of a week before, and the last one is not over.
        #expect(compared.now.pushes == 110 && compared.before.pushes == 220 && chart.total.pushes == 1_111)
    }

    @Test(arguments: [
        (0, 2), (1, 2), (3, 4), (9, 10), (10, 10), (11, 20), (41, 60), (100, 100), (905, 1_000), (2_008, 4_000),
        (10_000, 10_000), (1_234_567, 2_000_000),
    ])
    func `the scale ends with a round number that has a half`(most: Int, expected: Int) {
        #expect(Chart.top(over: most) == expected)
    }

    @Test func `rows are the newest first, with a sum, and what was a week before`() {
        #expect(chart().rows.map { $0["when"] as? String } == ["t1300", "t1000"])
        #expect(chart().total.values["share"] as? String == "80 %")
        #expect(chart().rows.map { $0["before"] as? String } == ["–", "–"] && chart().compared == nil)
        #expect(Chart(from: 0, step: 1, count: 3) { "\($0)" }.total.pushes == 0)
        #expect(Chart.Sum().values["share"] as? String == "–")
    }

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
