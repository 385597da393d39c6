import Answers
import LiveActivity
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

    @Test func `a period of which nothing is known is hatched, one without a push is empty`() throws {
        let chart = chart(since: 1_050)
        #expect(!chart.hasUnknown, "the first period has pushes all the same")
        let later = self.chart(since: 1_201)
        #expect(later.hasUnknown)
        let bars = try bars(later.pushes)
        #expect(try parts(bars[1]).map { $0["name"] } == ["unknown"])
        #expect(bars[1]["title"] as? String == "t1100: not counted, or no longer kept")
    }

    @Test(arguments: [3_600_000, 86_400_000] as [Int64])
    func `weeks are compared by the periods that are over and known of both weeks`(step: Int64) throws {
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
        // The first period is not known of a week before, and the last one is not over.
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
}
