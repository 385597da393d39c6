import Answers
import LiveActivity
import Store

/// The sums of an app's pushes, which outlive the pushes.
struct SumsCalls: CallGroup {
    /// Days whose names are read at once.
    private static let mostDaysOfNames: Int64 = 31

    private let store: Sums

    init(_ parts: GatewayParts) { store = parts.store.sums }

    /// `GET /api/sums`: by day, by hour or by name.
    func sums(_ call: Call) async throws -> Answer {
        let by = call.query["by"] ?? "day"
        guard ["day", "hour", "name"].contains(by) else {
            throw APIError.parameter("by", "must be day, hour or name")
        }
        let name = try call.query["name"].map { try call.identified("name", ActivityName.init(_:), of: $0) }
        if let name { try call.check(name) }
        let asked = try call.words("event", ActivityEvent.allCases.map(\.rawValue), ActivityEvent.init(rawValue:))
        let events = asked.isEmpty ? Set(ActivityEvent.allCases) : asked
        let (app, period) = (call.app.key, by == "hour" ? Sums.Period.hour : .day)
        let periods = try range(call, period, isOfDays: by == "name")
        // A credential for some names has the sums of these names alone, as far as they are kept.
        let isOfNames = name == nil && (by == "name" || call.namePrefix != nil)
        if isOfNames, periods.count > Self.mostDaysOfNames * Sums.Period.day.length / period.length {
            throw APIError.parameter(
                "from", "must be \(Self.mostDaysOfNames) days before to at most, for sums of names")
        }
        try await store.freshen(app)
        let view = try await store.read(app, by: period, periods, isOfNames ? .names(call.namePrefix) : .whole(name))
        let isWhole = name == nil && !isOfNames && events.count == ActivityEvent.allCases.count
        let rows =
            by == "name"
            ? Self.names(view.total.sums.filter { events.contains($0.key.event) })
            : Set(view.periods.keys).union(isWhole ? view.ofApp : []).sorted(by: >).compactMap { number in
                SumAnswer(
                    (view.periods[number]?.sums ?? [:]).filter { events.contains($0.key.event) }.values,
                    at: number * period.length, devices: isWhole ? view.devices[number] : nil,
                    followers: isWhole ? view.followers[number] : nil,
                    isWhole ? view.followings[number] ?? Followings() : nil)
            }
        return Answer(
            200,
            SumsAnswer(
                by: by, from: TimeText.text(periods.lowerBound * period.length),
                to: TimeText.text((periods.upperBound + 1) * period.length), since: TimeText.text(view.since),
                devices: isWhole ? view.allDevices : nil, sums: rows))
    }

    /// The periods that the query asks for: the last 14 days or 48 hours, or for names the last seven days.
    private func range(_ call: Call, _ period: Sums.Period, isOfDays: Bool) throws(APIError) -> ClosedRange<Int64> {
        let now = store.now()
        let newest = now / period.length
        let to = try call.time("to").map { max(0, $0 - 1) / period.length } ?? newest
        let count: Int64 = period == .hour ? 48 : isOfDays ? 7 : 14
        let from = try call.time("from").map { max(0, $0) / period.length } ?? to - count + 1
        guard from <= to else { throw APIError.parameter("from", "must be before to") }
        let oldest = (now - period.life) / period.length
        return max(from, oldest)...max(from, oldest, min(to, newest))
    }

    /// A row for each name, most deliveries first.
    private static func names(_ sums: [SumKey: SumCounts]) -> [SumAnswer] {
        var names: [ActivityName: [SumCounts]] = [:]
        for (key, counts) in sums { if let name = key.name { names[name, default: []].append(counts) } }
        return names.sorted { one, other in
            let (first, second) = (one.value.deliveries, other.value.deliveries)
            return (second, one.key.exact) < (first, other.key.exact)
        }.compactMap { SumAnswer($0.value, name: $0.key.rawValue) }
    }
}

extension SumsView {
    /// The periods of which something is known that no push tells.
    fileprivate var ofApp: Set<Int64> { Set(followers.keys).union(followings.keys) }
}

extension [SumCounts] {
    fileprivate var deliveries: Int { map(\.outcomes.delivered).reduce(0, +) }
}

extension SumCounts {
    /// Nil: all targets were on the first platform.
    fileprivate var byPlatform: [Platform: Outcomes]? {
        if apart.isEmpty { return nil }
        var first = outcomes
        for part in apart.values { first -= part }
        return apart.merging(first == Outcomes() ? [:] : [.ios: first]) { $1 }
    }
}

extension SumAnswer {
    /// Nil if there is nothing to add up.
    fileprivate init?(
        _ parts: some Sequence<SumCounts>, at time: Int64? = nil, name: String? = nil, devices: Int? = nil,
        followers: Int? = nil, _ followings: Followings? = nil
    ) {
        let counts = parts.reduce(into: SumCounts()) { $0 += $1 }
        let hasFollowers = followers ?? 0 > 0 || followings.map { $0 != Followings() } ?? false
        guard counts.pushes > 0 || hasFollowers else { return nil }
        self.init(
            at: time.map(TimeText.text), name: name, pushes: counts.pushes, outcomes: counts.outcomes,
            largestAudience: counts.largest, devices: devices)
        platforms = counts.byPlatform.map { PlatformOutcomesAnswer($0) }
        (self.followers, newFollowers, lostFollowers) = (followers, followings?.began, followings?.ended)
        (shown, ended, dismissed) = (counts.shown, counts.ended, counts.dismissed)
        guard counts.reached > 0 else { return }
        (lastPhone, longest) = (counts.lasted / counts.reached, counts.longest)
        (firstPhone, waited) = (counts.started / counts.reached, counts.waited / counts.reached)
        longestWait = counts.longestWait
    }
}

extension Endpoint {
    static let numbers: [Endpoint] = [
        Endpoint(
            "GET", "/api/sums", .master, .read, SumsCalls.sums, [.ok(SumsAnswer.self)], checksNames: true)
    ]
}
