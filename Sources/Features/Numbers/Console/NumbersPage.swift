import Answers
import LiveActivity

/// Deliveries over time, of the app or of a name, from the sums that outlive pushes.
enum NumbersPage {
    private static let (hour, day): (Int64, Int64) = (3_600_000, 86_400_000)
    /// Names in the table.
    private static let mostNames = 20

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let view = View(visit)
        let columns = SumAnswer.columns.filter { $0 != "name" }
        if let file = try await Export.file(visit, "/api/sums", "sums", columns: columns, view.query()) { return file }
        let found = try await view.chart(visit)
        let names = view.name == nil ? try await topNames(visit, view) : []
        let (chart, total) = (found.chart, found.chart.total)
        return visit.page(
            "numbers", "Numbers",
            values([
                "name": view.name ?? "", "namePath": view.name.map { RoomPage.path($0) },
                "byHour": view.isByHour ? true : nil, "by": view.isByHour ? "hour" : "day",
                "dayPath": view.path(by: "day"), "hourPath": view.path(by: "hour"),
                "from": visit.query.text("from") ?? "", "to": visit.query.text("to") ?? "",
                "events": Options.list(
                    ["", "start", "update", "end"], chosen: visit.query["event"], empty: "Any event"),
                "empty": total.pushes == 0 ? true : nil, "rows": chart.rows, "sum": total.values,
                "charts": [chart.deliveries, chart.pushes]
                    + [chart.devices, chart.followers, chart.followings].compactMap(\.self),
                "unknown": chart.hasUnknown ? Shown.plain(found.since) : nil,
                "tiles": tiles(total, chart.compared, devices: found.devices), "names": names,
                "hasNames": names.isEmpty ? nil : true,
                "files": Export.links(visit, keeping: ["name", "event", "by", "from", "to"]),
            ]))
    }

    /// The form of the page: which time, which name, which event.
    struct View {
        let name: String?
        let event: String?
        let isByHour: Bool
        let range: DayRange
        let (first, count): (Int64, Int)

        var step: Int64 { isByHour ? NumbersPage.hour : NumbersPage.day }

        init(_ visit: Visit) {
            (name, event) = (visit.query.name(), visit.query.text("event"))
            isByHour = visit.query["by"] == "hour"
            range = DayRange(visit.query)
            let step = isByHour ? NumbersPage.hour : NumbersPage.day
            let (most, usual): (Int64, Int64) = isByHour ? (336, 48) : (400, 14)
            // Redis's clock dates pushes.
            let now = visit.console.gateway.now()
            let end = range.to.flatMap { TimeText.parse($0) }.map { min($0, now + step) } ?? now + step
            let last = max(1, end / step) - 1
            let begin = range.from.flatMap { TimeText.parse($0) }.map { $0 / step } ?? last - usual + 1
            let first = min(last, max(begin, last - most + 1))
            (self.first, count) = (first * step, Int(last - first + 1))
        }

        /// The parameters of the API for these periods, or for the same ones so much earlier.
        func query(by group: String? = nil, earlier: Int64 = 0) -> KeyValuePairs<String, String?> {
            [
                "by": group ?? (isByHour ? "hour" : "day"), "name": name, "event": event,
                "from": TimeText.plainText(max(0, first - earlier)),
                "to": TimeText.plainText(max(1, first + Int64(count) * step - earlier)),
            ]
        }

        func path(by group: String) -> String {
            "/console/numbers" + Form.query(["by": group, "name": name, "event": event])
        }

        /// The sums of these periods beside the ones a week earlier.
        func chart(_ visit: Visit) async throws -> (chart: Chart, since: String, devices: Int?) {
            let found: SumsAnswer = try await visit.get("/api/sums", query: Form.query(query()))
            let week = Chart.week
            let earlier: SumsAnswer = try await visit.get("/api/sums", query: Form.query(query(earlier: week)))
            var chart = Chart(
                from: first, step: step, count: count, since: TimeText.parse(found.since) ?? 0,
                now: visit.console.gateway.now()
            ) { String(TimeText.plainText($0).prefix(isByHour ? 16 : 10)).replacing("T", with: " ") }
            chart.link = { time in
                "/console/pushes"
                    + Form.query([
                        "name": name, "event": event, "from": TimeText.plainText(time),
                        "to": TimeText.plainText(time + step),
                    ])
            }
            for sum in found.sums { sum.at.flatMap { TimeText.parse($0) }.map { chart.add(Chart.Sum(sum), at: $0) } }
            for sum in earlier.sums {
                sum.at.flatMap { TimeText.parse($0) }.map { chart.addBefore(Chart.Sum(sum), at: $0 + week) }
            }
            return (chart, found.since, found.devices)
        }
    }

    /// The names with the most deliveries of the time, as far as their sums are kept.
    private static func topNames(_ visit: Visit, _ view: View) async throws -> [Values] {
        guard Int64(view.count) * view.step <= 31 * day else { return [] }
        let found: SumsAnswer = try await visit.get("/api/sums", query: Form.query(view.query(by: "name")))
        return found.sums.prefix(mostNames).map { sum in
            var row = Chart.Sum(sum).values
            row["title"] = sum.name
            row["path"] =
                "/console/numbers"
                + Form.query([
                    "by": view.isByHour ? "hour" : "day", "name": sum.name, "event": view.event,
                    "from": visit.query.text("from"), "to": visit.query.text("to"),
                ])
            return row
        }
    }

    /// The main numbers of the time, each beside the one a week earlier.
    private static func tiles(
        _ total: Chart.Sum, _ compared: (now: Chart.Sum, before: Chart.Sum)?, devices: Int?
    ) -> [Values] {
        func tile(_ title: String, _ count: (Chart.Sum) -> Int, _ note: String? = nil) -> Values {
            let change = compared.flatMap { compared -> String? in
                let (now, then) = (count(compared.now), count(compared.before))
                guard then > 0 else { return nil }
                let percent = Int((Double(now - then) * 100 / Double(then)).rounded())
                return "\(percent >= 0 ? "+" : "−")\(abs(percent)) % to a week before"
            }
            return values([
                "title": title, "value": Shown.count(count(total)), "note": change ?? note,
            ])
        }
        var tiles = [
            tile("Deliveries", \.outcomes.delivered, "one for each push and device"), tile("Pushes", \.pushes),
            tile("Largest audience", \.largest, "the most targets of one push"),
        ]
        let platforms = Platform.all.filter { total.delivered[$0, default: 0] > 0 }
        if platforms.contains(where: \.countsApart) {
            tiles += platforms.map { platform in
                tile("Deliveries on \(Shown.platform(platform))", { $0.delivered[platform, default: 0] })
            }
        }
        if let devices {
            tiles.append([
                "title": "Devices at least once", "value": Shown.estimate(devices), "note": "each once, of all names",
            ])
        }
        if total.shown > 0, total.outcomes.delivered > 0 {
            let share = min(100, Int(Double(total.shown) * 100 / Double(total.outcomes.delivered)))
            tiles.append([
                "title": "Shown by receipts", "value": "\(share) %", "note": "\(Shown.count(total.shown)) devices",
            ])
        }
        if let first = total.firstPhone, let last = total.lastPhone {
            func time(_ title: String, _ milliseconds: Int) {
                let value = Shown.duration(Int64(milliseconds))
                tiles.append(["title": title, "value": value, "note": "average of the pushes"])
            }
            time("First phone after", first)
            time("Last phone after", last)
            if total.waitedOnAverage > 0 { time("In the queue for", total.waitedOnAverage) }
        }
        return tiles
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
