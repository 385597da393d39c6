import LiveActivity
import StrictJSON
import Testing

@testable import Console

@Suite struct ChartTests {
    private func chart() -> Chart {
        var chart = Chart(from: 1_000, step: 100, count: 4) { "t\($0)" }
        chart.add(Chart.Sum(pushes: 2, targets: 100, delivered: 70, failed: 20), at: 1_099)
        chart.add(Chart.Sum(pushes: 1, targets: 50, delivered: 50), at: 1_300)
        // Neither of them is in the chart.
        chart.add(Chart.Sum(pushes: 9, targets: 9), at: 999)
        chart.add(Chart.Sum(pushes: 9, targets: 9), at: 1_400)
        return chart
    }

    @Test func `bars stand on each other and reach as high as their count`() throws {
        let bars = try #require(chart().devices["bars"] as? [[String: Any]])
        #expect(bars.count == 2 && chart().devices["top"] as? String == "100")
        let parts = try #require(bars[0]["parts"] as? [[String: String]])
        #expect(parts.map { $0["name"] } == ["delivered", "failed", "rest"])
        #expect(parts.map { $0["y"] } == ["30.00", "10.00", "0.00"])
        #expect(parts.map { $0["height"] } == ["70.00", "20.00", "10.00"])
        #expect(bars[0]["title"] as? String == "t1000: 100 devices, 70 delivered, 20 failed")
        let second = try #require(bars[1]["parts"] as? [[String: String]])
        #expect(second.count == 1 && second[0]["height"] == "50.00" && second[0]["x"] == "78.00")
    }

    @Test(arguments: [
        (0, 2), (1, 2), (3, 4), (9, 10), (10, 10), (11, 20), (41, 60), (100, 100), (905, 1_000), (2_008, 4_000),
        (10_000, 10_000), (1_234_567, 2_000_000),
    ])
    func `the scale ends with a round number that has a half`(most: Int, expected: Int) {
        #expect(Chart.top(over: most) == expected)
    }

    @Test func `rows are the newest first, with a sum, and an empty chart says so`() {
        #expect(chart().rows.map { $0["when"] as? String } == ["t1300", "t1000"])
        #expect(chart().total.values["share"] as? String == "80 %")
        #expect(Chart(from: 0, step: 1, count: 3) { "\($0)" }.isEmpty && !chart().isEmpty)
        #expect(Chart.Sum().values["share"] as? String == "–")
    }

    @Test func `a file has a column for each member, and no cell that a spreadsheet runs`() throws {
        let rows = try [#"{"name":"=1+1","tokens":2,"why":null}"#, #"{"name":"a \"b\", c","more":{"x":[1]}}"#].map {
            try JSONDocument($0).root.object()
        }
        #expect(Export.csv(rows) == "name,tokens,why,more\r\n'=1+1,2,,\r\n\"a \"\"b\"\", c\",,,\"{\"\"x\"\":[1]}\"\r\n")
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
