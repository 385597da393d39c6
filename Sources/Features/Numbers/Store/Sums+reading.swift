public import LiveActivity
import Redis
import StoreGround

/// The sums of some hours or days, as they are kept.
public struct SumsView: Sendable {
    /// The sums of each period that has pushes, by its number since 1970.
    public var periods: [Int64: SumTable] = [:]
    /// The first moment (epoch ms) from which on a period without sums had no push. Earlier ones were not counted, or
    /// are no longer kept.
    public var since: Int64
    /// Devices that got at least one push, by day, and in all of these days. An estimate, about 1 % off.
    public var devices: [Int64: Int] = [:]
    public var allDevices: Int?
    /// The most followers of all names in each period, by an estimate.
    public var followers: [Int64: Int] = [:]
    /// The followings of all names that began and ended in each period.
    public var followings: [Int64: Followings] = [:]

    /// All of these periods, added up.
    public var total: SumTable { periods.values.reduce(into: SumTable()) { $0.add($1) } }
}

extension Sums {
    /// The sums that somebody asks for.
    public enum Part: Sendable, Hashable {
        /// All pushes, or the pushes of a name.
        case whole(ActivityName?)
        /// Each name that has sums; only names with this prefix.
        case names(String?)
    }

    private static let mostTries = 5

    /// Reads the sums from one period to another.
    /// - Parameter periods: numbers since 1970
    public func read(
        _ app: AppKey, by period: Period, _ periods: ClosedRange<Int64>, _ part: Part
    ) async throws(StoreError) -> SumsView {
        for _ in 1..<Self.mostTries {
            let progress = try await progress(app)
            let view = try await read(app, by: period, periods, part, progress)
            // An hour that was closed meanwhile would be missing, or be there twice.
            if try await self.progress(app) == progress { return view }
        }
        return try await read(app, by: period, periods, part, progress(app))
    }

    private func read(
        _ app: AppKey, by period: Period, _ periods: ClosedRange<Int64>, _ part: Part, _ progress: Progress
    ) async throws(StoreError) -> SumsView {
        let now = time.now()
        let newest = now / Period.hour.length
        let hours = period.length / Period.hour.length
        let open = progress.next ?? newest - 1
        // Most hours of a day are in the day, and the open ones have drafts.
        let from = max(open, periods.lowerBound * hours)
        let wanted = from...max(from, min(newest, periods.upperBound * hours + hours - 1))
        let first = max(periods.lowerBound, (now - period.life) / period.length)
        let closed = first...max(first, min(periods.upperBound, now / period.length))
        let keys =
            closed.map { ($0, period == .hour ? self.keys.hourSums(app, $0) : self.keys.daySums(app, $0)) }
            + (period == .hour ? [] : wanted.map { ($0 / hours, self.keys.hourSums(app, $0)) })
        var view = SumsView(since: max((progress.since ?? newest - 1) * Period.hour.length, now - period.life))
        for part in zip(keys, try await tables(keys.map(\.1), part)).map({ (number: $0.0.0, table: $0.1) })
        where !part.table.sums.isEmpty && periods.contains(part.number) {
            view.periods[part.number, default: SumTable()].add(part.table)
        }
        guard part == .whole(nil) else { return view }
        if period == .day { try await addDevices(app, closed, to: &view) }
        let days = closed.lowerBound / (24 / hours)...closed.upperBound / (24 / hours)
        for day in try await redis.run(days.map { RedisCommand("HGETALL", self.keys.dayFollowers(app, $0)) }) {
            for (field, count) in try StoredHash(day).pairs {
                let words = field.split(separator: " ")
                guard let hour = words.first.flatMap({ Int64($0) }), let count = StoredNumber.read(count) else {
                    continue
                }
                let number = hour / hours
                guard periods.contains(number) else { continue }
                switch words.dropFirst().first {
                case nil: view.followers[number] = max(view.followers[number] ?? 0, count)
                case "began": view.followings[number, default: Followings()].began += count
                case "ended": view.followings[number, default: Followings()].ended += count
                default: continue
                }
            }
        }
        return view
    }

    /// Days that are merged for one number at most: Redis takes 0.1 ms for each.
    private static let mostMerged = 31

    private func addDevices(_ app: AppKey, _ days: ClosedRange<Int64>, to view: inout SumsView) async throws(StoreError)
    {
        let sketches = days.map { RedisArgument.key(keys.deviceSketch(app, $0)) }
        let counts = try await redis.run(sketches.map { RedisCommand("PFCOUNT", [$0]) })
        for (day, count) in zip(days, counts) {
            let count = try count.integer()
            if count > 0 { view.devices[day] = count }
        }
        guard !view.devices.isEmpty, days.count <= Self.mostMerged else { return }
        view.allDevices = try await redis.run(RedisCommand("PFCOUNT", sketches)).integer()
    }

    private func tables(_ keys: [RedisKey], _ part: Part) async throws(StoreError) -> [SumTable] {
        switch part {
        case .whole(let name):
            let names = SumKey.all(name).map(\.stored)
            let commands = keys.map { RedisCommand("HMGET", $0, names.map { .string($0) }) }
            return try await redis.run(commands).map { (reply) throws(StoreError) in
                SumTable(try StoredHash(names, reply))
            }
        case .names(let prefix):
            return try await redis.run(keys.map { RedisCommand("HGETALL", $0) }).map { (reply) throws(StoreError) in
                var table = SumTable(try StoredHash(reply))
                table.sums = table.sums.filter { $0.key.name?.begins(with: prefix) ?? false }
                return table
            }
        }
    }
}
