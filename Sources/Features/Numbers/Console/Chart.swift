import Answers
import LiveActivity

/// Sums of equal periods of time, as bars and as rows of a table, beside the sums of a week before.
struct Chart {
    struct Sum {
        var pushes = 0
        var outcomes = Outcomes()
        /// Deliveries, by platform.
        var delivered: [Platform: Int] = [:]
        var largest = 0
        var shown = 0
        var devices: Int?
        var followers: Int?
        var newFollowers = 0
        var lostFollowers = 0
        /// The times to the first phone, to the last one and in the queue, ms, added up over the pushes that reached a
        /// device; and their number.
        fileprivate var (started, lasted, waited) = (0, 0, 0)
        fileprivate var reached = 0

        init(pushes: Int = 0, outcomes: Outcomes = Outcomes()) { (self.pushes, self.outcomes) = (pushes, outcomes) }

        init(_ sum: SumAnswer) {
            self.init(pushes: sum.pushes, outcomes: sum.outcomes)
            delivered = sum.platforms?.byPlatform.mapValues(\.delivered) ?? [.ios: sum.outcomes.delivered]
            (largest, shown, devices, followers) = (sum.largestAudience, sum.shown, sum.devices, sum.followers)
            (newFollowers, lostFollowers) = (sum.newFollowers ?? 0, sum.lostFollowers ?? 0)
            if let last = sum.lastPhone {
                (lasted, reached) = (last * sum.pushes, sum.pushes)
                (started, waited) = ((sum.firstPhone ?? 0) * sum.pushes, (sum.waited ?? 0) * sum.pushes)
            }
        }

        static func += (sum: inout Sum, other: Sum) {
            sum.pushes += other.pushes
            sum.outcomes += other.outcomes
            sum.delivered.merge(other.delivered, uniquingKeysWith: +)
            sum.largest = max(sum.largest, other.largest)
            sum.shown += other.shown
            sum.newFollowers += other.newFollowers
            sum.lostFollowers += other.lostFollowers
            sum.started += other.started
            sum.waited += other.waited
            sum.lasted += other.lasted
            sum.reached += other.reached
        }

        var firstPhone: Int? { reached > 0 ? started / reached : nil }
        var lastPhone: Int? { reached > 0 ? lasted / reached : nil }
        var waitedOnAverage: Int { reached > 0 ? waited / reached : 0 }

        fileprivate var share: String {
            outcomes.targets == 0 ? "–" : "\(Int(Double(outcomes.delivered) * 100 / Double(outcomes.targets))) %"
        }

        var values: Values {
            [
                "pushes": Shown.count(pushes), "targets": Shown.count(outcomes.targets),
                "delivered": Shown.count(outcomes.delivered), "failed": Shown.count(outcomes.failed), "share": share,
                "largest": Shown.count(largest), "devices": devices.map(Shown.estimate) ?? "–",
            ]
        }
    }

    /// The height of the drawing. Its width is 100.
    private static let height = 100.0
    private let first: Int64
    private let step: Int64
    /// Nothing is known of periods that begin before.
    private let since: Int64
    /// The present, at which a period may not be over.
    private let now: Int64
    private let label: (Int64) -> String
    /// The page with the pushes of the period that begins then.
    var link: (Int64) -> String? = { _ in nil }
    private var sums: [Sum]
    private var before: [Sum]

    init(
        from first: Int64, step: Int64, count: Int, since: Int64 = 0, now: Int64 = .max,
        label: @escaping (Int64) -> String
    ) {
        (self.first, self.step, self.since, self.now, self.label) = (first, step, since, now, label)
        sums = Array(repeating: Sum(), count: count)
        before = sums
    }

    mutating func add(_ sum: Sum, at time: Int64) {
        guard let place = place(time) else { return }
        sums[place] += sum
        (sums[place].devices, sums[place].followers) = (sum.devices, sum.followers)
    }

    /// - Parameter time: of the period beside which it is drawn
    mutating func addBefore(_ sum: Sum, at time: Int64) {
        guard let place = place(time) else { return }
        before[place] += sum
        (before[place].devices, before[place].followers) = (sum.devices, sum.followers)
    }

    private func place(_ time: Int64) -> Int? {
        let place = Int((time - first) / step)
        return time >= first && sums.indices.contains(place) ? place : nil
    }

    var total: Sum { sums.reduce(into: Sum()) { $0 += $1 } }
    static let week: Int64 = 7 * 86_400_000
    /// The periods that are over and that are known of a week before too, added up for both weeks. Others would show a
    /// fall of an hour that has just begun, and a rise over hours that are no longer kept. Nil: no push is known of a
    /// week before.
    var compared: (now: Sum, before: Sum)? {
        let periods = sums.indices.filter { begin($0) - Self.week >= since && begin($0) + step <= now }
        let total = periods.reduce(into: Sum()) { $0 += before[$1] }
        return total.pushes > 0 ? (periods.reduce(into: Sum()) { $0 += sums[$1] }, total) : nil
    }
    var hasUnknown: Bool { sums.indices.contains(where: isUnknown) }

    private func begin(_ index: Int) -> Int64 { first + Int64(index) * step }
    private func name(_ index: Int) -> String { label(begin(index)) }
    /// The first period may have been counted in part.
    private func isUnknown(_ index: Int) -> Bool { sums[index].pushes == 0 && begin(index) < since }

    /// The deliveries of each period, and how many failed.
    var deliveries: Values {
        drawing("Deliveries", \.outcomes.targets) { sum in
            let (delivered, failed) = (sum.outcomes.delivered, sum.outcomes.failed)
            return [
                ("delivered", delivered), ("failed", failed),
                ("rest", max(0, sum.outcomes.targets - delivered - failed)),
            ]
        } spoken: { sum in
            "\(Shown.count(sum.outcomes.delivered)) delivered of \(Shown.count(sum.outcomes.targets)), "
                + "\(Shown.count(sum.outcomes.failed)) failed"
        }
    }

    var pushes: Values {
        drawing("Pushes", \.pushes) {
            [("count", $0.pushes)]
        } spoken: {
            Shown.count($0.pushes, "push", "pushes")
        }
    }

    /// Nil if no period knows its devices.
    var devices: Values? { estimates("Devices at least once", "devices", \.deviceCount) }
    /// Nil if no period knows them.
    var followers: Values? { estimates("Followers of all names", "followers", \.followerCount) }

    /// Nil if no following began or ended.
    var followings: Values? {
        guard sums.contains(where: { $0.changes > 0 }) else { return nil }
        return drawing("New followers, and lost ones above", \.changes) {
            [("count", $0.newFollowers), ("lost", $0.lostFollowers)]
        } spoken: {
            "\(Shown.estimate($0.newFollowers)) new, \(Shown.estimate($0.lostFollowers)) lost"
        }
    }

    private func estimates(_ caption: String, _ what: String, _ count: KeyPath<Sum, Int>) -> Values? {
        guard sums.contains(where: { $0[keyPath: count] > 0 }) else { return nil }
        return drawing(caption, count) {
            [("count", $0[keyPath: count])]
        } spoken: {
            "\(Shown.estimate($0[keyPath: count])) \(what)"
        }
    }

    private func drawing(
        _ caption: String, _ whole: KeyPath<Sum, Int>, _ parts: (Sum) -> [(String, Int)], spoken: (Sum) -> String
    ) -> Values {
        let top = Self.top(over: (sums + before).map { $0[keyPath: whole] }.max() ?? 0)
        let width = 100 / Double(sums.count)
        func size(_ count: Int) -> Double { Double(count) * Self.height / Double(top) }
        func rect(_ name: String, _ index: Int, y: Double, height: Double, inset: Double = 0.12) -> Values {
            [
                "name": name, "x": Self.text((Double(index) + inset) * width), "y": Self.text(y),
                "width": Self.text(width * (1 - 2 * inset)), "height": Self.text(height),
            ]
        }
        let bars = sums.indices.compactMap { index -> Values? in
            let (sum, then) = (sums[index], before[index][keyPath: whole])
            if isUnknown(index) {
                let drawn = [rect("unknown", index, y: 0, height: Self.height, inset: 0)]
                return ["parts": drawn, "title": "\(name(index)): not counted, or no longer kept"]
            }
            guard sum[keyPath: whole] > 0 || then > 0 else { return nil }
            var y = Self.height
            var drawn = parts(sum).compactMap { name, count -> Values? in
                guard count > 0 else { return nil }
                // A few of many must still be seen.
                let height = min(y, max(1, size(count)))
                y -= height
                return rect(name, index, y: y, height: height)
            }
            if then > 0 {
                drawn.append(rect("before", index, y: Self.height - size(then), height: size(then), inset: 0.04))
            }
            let compared = then > 0 ? "; a week before \(Shown.count(then))" : ""
            return values([
                "parts": drawn, "title": "\(name(index)): \(spoken(sum))\(compared)",
                "pushesPath": sum.pushes > 0 ? link(begin(index)) : nil,
            ])
        }
        return [
            "caption": caption, "bars": bars, "top": Shown.count(top),
            "half": Shown.count(top / 2), "first": name(0), "middle": name(sums.count / 2),
            "last": name(sums.count - 1),
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

    /// The newest first. Periods without a push are left out.
    var rows: [Values] {
        sums.indices.reversed().compactMap { index in
            guard sums[index].pushes > 0 else { return nil }
            var row = sums[index].values
            row["when"] = name(index)
            row["path"] = link(begin(index))
            row["before"] = before[index].pushes > 0 ? Shown.count(before[index].outcomes.delivered) : "–"
            return row
        }
    }
}

extension Chart.Sum {
    fileprivate var deviceCount: Int { devices ?? 0 }
    fileprivate var followerCount: Int { followers ?? 0 }
    fileprivate var changes: Int { newFollowers + lostFollowers }
}
