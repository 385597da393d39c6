import Answers
import LiveActivity

/// Reach, delivered and failed over time, of the app or of a name, from the ledgers that are kept.
enum NumbersPage {
    private static let hours = 48
    private static let days = 14
    /// The most pushes that a chart by the hour reads.
    private static let most = 5_000

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let name = visit.query.name()
        let isByHour = visit.query["by"] == "hour"
        let (chart, isCut) = try await isByHour ? byHour(name, visit) : byDay(name, visit)
        func path(_ by: String) -> String { "/console/numbers" + Form.query(["by": by, "name": name]) }
        return visit.page(
            "numbers", "Numbers",
            values([
                "name": name ?? "", "namePath": name.map { "/console/names/\(Form.encoded($0))" },
                "byHour": isByHour ? true : nil, "by": isByHour ? "hour" : "day", "dayPath": path("day"),
                "hourPath": path("hour"),
                "span": isByHour ? "The last \(hours) hours, UTC" : "The last \(days) days, UTC",
                "empty": chart.isEmpty ? true : nil, "isCut": isCut ? Shown.count(most) : nil,
                "devices": chart.devices, "pushes": chart.pushes, "rows": chart.rows, "sum": chart.total.values,
            ]))
    }

    /// Redis's clock, which dates pushes.
    private static func now(_ visit: Visit) -> Int64 { visit.console.gateway.now() }

    private static func byDay(_ name: String?, _ visit: Visit) async throws -> (Chart, isCut: Bool) {
        let day: Int64 = 86_400_000
        let first = now(visit) / day * day - Int64(days - 1) * day
        let query = Form.query(["by": "day", "name": name, "from": TimeText.plainText(first)])
        let found: PushSumsAnswer = try await visit.get("/api/pushes/sums", query: query)
        var chart = Chart(from: first, step: day, count: days) { String(TimeText.plainText($0).prefix(10)) }
        for sum in found.sums {
            guard let text = sum.day, let time = TimeText.parse("\(text)T00:00:00") else { continue }
            chart.add(Chart.Sum(pushes: sum.pushes, outcomes: sum.outcomes), at: time)
        }
        return (chart, found.next != nil)
    }

    private static func byHour(_ name: String?, _ visit: Visit) async throws -> (Chart, isCut: Bool) {
        let hour: Int64 = 3_600_000
        let first = now(visit) / hour * hour - Int64(hours - 1) * hour
        var chart = Chart(from: first, step: hour, count: hours) {
            String(TimeText.plainText($0).prefix(16)).replacing("T", with: " ")
        }
        var (next, read) = (String?.none, 0)
        repeat {
            let query = Form.query([
                "limit": "1000", "name": name, "from": TimeText.plainText(first), "after": next,
            ])
            let page: HistoryAnswer = try await visit.get("/api/pushes", query: query)
            for ledger in page.pushes {
                guard let time = TimeText.parse(ledger.createdAt) else { continue }
                chart.add(
                    Chart.Sum(pushes: 1, outcomes: ledger.outcomes), at: time)
            }
            read += page.pushes.count
            next = page.next
        } while next != nil && read < most
        return (chart, next != nil)
    }
}

extension Route {
    static let numbers = [Route("GET", "/console/numbers", .read, NumbersPage.show)]
}

extension MenuEntry {
    static let numbers = MenuEntry(group: .published, path: "/console/numbers", title: "Numbers")
}

extension NameLink {
    static let numbers = NameLink(title: "Numbers by day and hour") { name in
        "/console/numbers" + Form.query(["name": name])
    }
}

/// Sums of equal spans of time, as bars and as rows of a table.
struct Chart {
    struct Sum {
        var pushes = 0
        var outcomes = Outcomes()

        static func += (sum: inout Sum, other: Sum) {
            sum.pushes += other.pushes
            sum.outcomes += other.outcomes
        }

        fileprivate var share: String {
            outcomes.targets == 0 ? "–" : "\(Int(Double(outcomes.delivered) * 100 / Double(outcomes.targets))) %"
        }

        var values: Values {
            [
                "pushes": Shown.count(pushes), "targets": Shown.count(outcomes.targets),
                "delivered": Shown.count(outcomes.delivered), "failed": Shown.count(outcomes.failed), "share": share,
            ]
        }
    }

    /// The height of the drawing. Its width is 100.
    private static let height = 100.0
    private let first: Int64
    private let step: Int64
    private let label: (Int64) -> String
    private var sums: [Sum]

    init(from first: Int64, step: Int64, count: Int, label: @escaping (Int64) -> String) {
        (self.first, self.step, self.label) = (first, step, label)
        sums = Array(repeating: Sum(), count: count)
    }

    mutating func add(_ sum: Sum, at time: Int64) {
        let place = (time - first) / step
        guard time >= first, sums.indices.contains(Int(place)) else { return }
        sums[Int(place)] += sum
    }

    var isEmpty: Bool { sums.allSatisfy { $0.pushes == 0 } }
    var total: Sum { sums.reduce(into: Sum()) { $0 += $1 } }

    private func name(_ index: Int) -> String { label(first + Int64(index) * step) }

    /// The targets of each span: how many got the push, and how many failed.
    var devices: Values {
        bars(\.outcomes.targets) { sum, text in
            let devices = Shown.count(sum.outcomes.targets, "device", "devices")
            return "\(text): \(devices), \(Shown.count(sum.outcomes.delivered)) delivered, "
                + "\(Shown.count(sum.outcomes.failed)) failed"
        }
    }

    var pushes: Values {
        bars(\.pushes) { sum, text in "\(text): \(Shown.count(sum.pushes, "push", "pushes"))" }
    }

    private func bars(_ whole: KeyPath<Sum, Int>, spoken: (Sum, String) -> String) -> Values {
        let top = Self.top(over: sums.map { $0[keyPath: whole] }.max() ?? 0)
        let width = 100 / Double(sums.count)
        let isOfDevices = whole == \.outcomes.targets
        let bars = sums.enumerated().compactMap { index, sum -> Values? in
            guard sum[keyPath: whole] > 0 else { return nil }
            var parts: [(String, Int)] = [(isOfDevices ? "rest" : "count", sum[keyPath: whole])]
            if isOfDevices {
                let (delivered, failed) = (sum.outcomes.delivered, sum.outcomes.failed)
                let rest = max(0, sum.outcomes.targets - delivered - failed)
                parts = [("delivered", delivered), ("failed", failed), ("rest", rest)]
            }
            var y = Self.height
            let drawn = parts.compactMap { name, count -> Values? in
                guard count > 0 else { return nil }
                // A few of many must still be seen.
                let size = min(y, max(1, Double(count) * Self.height / Double(top)))
                y -= size
                return [
                    "name": name, "x": Self.text(Double(index) * width + width * 0.12), "y": Self.text(y),
                    "width": Self.text(width * 0.76), "height": Self.text(size),
                ]
            }
            return ["parts": drawn, "title": spoken(sum, name(index))]
        }
        return [
            "caption": isOfDevices ? "Devices" : "Pushes", "bars": bars, "top": Shown.count(top),
            "half": Shown.count(top / 2), "from": name(0), "middle": name(sums.count / 2), "to": name(sums.count - 1),
        ]
    }

    /// The end of the scale: a round number that has a half.
    static func top(over most: Int) -> Int {
        var unit = 1
        while unit * 10 < most { unit *= 10 }
        return unit * ([2, 4, 6, 8, 10].first { unit * $0 >= most } ?? 10)
    }

    private static func text(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    /// The newest first. Spans without a push are left out.
    var rows: [Values] {
        sums.indices.reversed().compactMap { index in
            guard sums[index].pushes > 0 else { return nil }
            var row = sums[index].values
            row["when"] = name(index)
            return row
        }
    }
}
