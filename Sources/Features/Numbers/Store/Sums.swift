public import LiveActivity
import Redis
import StoreDeliveries
import StoreGround
import StoreRegistry

extension Store {
    /// The sums of pushes that outlive the pushes.
    public var sums: Sums { Sums(redis: redis, keys: keys, pushes: pushes, time: time, quotas: registry.quotas) }
}

/// Hourly and daily sums of an app's pushes.
///
/// The index of pushes feeds them: it has each push before the push is committed, whatever the settings are. So a
/// publish and a sweep write nothing for the sums.
///
/// - An hour is open until its pushes are 23 hours old. Until then it has a draft: all of its pushes, added up anew
///   from time to time, in place of the draft before. So retried dead letters and late receipts are in the next draft.
/// - Then one script closes it: it writes the hour, adds it to its day, and notes that the next hour is the first open
///   one. The values were computed from a revision of the sums, and the script compares it. So each hour is added once,
///   however many workers there are and whenever one dies.
/// - A push that may still change is watched. When it has changed, the same script corrects hour and day.
public struct Sums: Sendable {
    public enum Period: Sendable, Hashable {
        case hour, day

        /// Milliseconds.
        public var length: Int64 { self == .hour ? 3_600_000 : 86_400_000 }
        /// How long it is kept, ms.
        public var life: Int64 { self == .hour ? 14 * 86_400_000 : 400 * 86_400_000 }
    }

    /// Between two steps. A test may end a run here, as a death does.
    enum Step: Sendable, Hashable { case begun, counted, written, corrected, drafted }

    /// An hour is closed so long after its begin, ms. No push is removed before it is 25 hours old.
    static let closedAfter: Int64 = 24 * Period.hour.length
    /// Pushes of an hour that are watched at most.
    static let mostWatched = 1_000
    /// Fields and values of one command of a script. Lua passes no more than some thousand.
    private static let mostOfCommand = 1_000
    /// How long a process is the only one that adds up, ms. It is longer than most hours take.
    private static let lease: Duration = .seconds(60)
    /// Pushes that a gateway reads at most to have a fresh draft.
    private static let mostFreshened = 20_000

    let redis: RedisClient
    let keys: Keyspace
    let pushes: Pushes
    let time: ServerTime
    let quotas: Quotas
    /// Told after each step.
    var reached: @Sendable (Step) throws(StoreError) -> Void = { _ in }

    /// How far an app's pushes are added up.
    struct Progress: Sendable, Hashable {
        var revision = 0
        /// The first open hour, and the first hour that was counted. Nil: no worker has begun.
        var next: Int64?
        var since: Int64?

        init(_ fields: StoredHash) {
            revision = fields.number("revision") ?? 0
            next = fields.number("next").map(Int64.init)
            since = fields.number("since").map(Int64.init)
        }

        static let fields = ["revision", "next", "since"]
    }

    /// Epoch milliseconds of Redis's clock, which dates pushes.
    public func now() -> Int64 { time.now() }

    func progress(_ app: AppKey) async throws(StoreError) -> Progress {
        let names = Progress.fields
        return Progress(
            try StoredHash(names, await redis.run("HMGET", keys.sumsState(app), names.map { .string($0) })))
    }

    /// Closes the hours that are old enough, corrects what has changed, and makes the drafts anew that are due.
    /// - Parameters:
    ///   - owner: names this process. Another one that adds up at the same moment does no harm, but twice the work.
    ///   - isStopping: asked after each hour, so that a process can end.
    public func work(
        _ app: AppKey, owner: String, isStopping: @Sendable () -> Bool = { false }
    ) async throws(StoreError) {
        guard try await lease(app, owner) else { return }
        while !isStopping(), try await closeHour(app) { _ = try await lease(app, owner) }
        try await correct(app)
        for (hour, _) in try await dueDrafts(app) where !isStopping() {
            _ = try await lease(app, owner)
            try await draft(app, hour: hour)
            if hour == time.now() / Period.hour.length { try await noteFollowers(app, hour: hour) }
        }
        _ = try await lease(app, owner, .zero)
    }

    private func lease(
        _ app: AppKey, _ owner: String, _ length: Duration = Self.lease
    ) async throws(StoreError) -> Bool {
        try await redis.lease(keys.sumsLease(app), owner: owner, for: length)
    }

    /// Closes the first open hour.
    /// - Returns: false if no hour is old enough.
    func closeHour(_ app: AppKey) async throws(StoreError) -> Bool {
        let now = time.now()
        var progress = try await progress(app)
        let kept = (now - keys.retention) / Period.hour.length + 1
        // The pushes of the hours between are gone: nobody added them up in time.
        let begins = progress.next.map { $0 < kept } ?? true
        if begins { progress.next = kept }
        guard let hour = progress.next, now >= hour * Period.hour.length + Self.closedAfter else {
            if begins { _ = try await change(app, progress, begins: kept) }
            return false
        }
        try reached(.begun)
        guard var counted = try await count(app, hour: hour, closedAt: now) else { return false }
        counted.table.keepNames(SumTable.mostNames)
        let day = hour * Period.hour.length / Period.day.length
        let before = SumTable(try await redis.hash(keys.daySums(app, day)))
        var sums = before
        sums.add(counted.table)
        let isLast = (hour + 1) * Period.hour.length % Period.day.length == 0
        sums.keepNames(isLast ? SumTable.mostNames : SumTable.mostNamesOfOpenDay)
        try reached(.counted)
        // If another caller was first, the next step finds what it did.
        _ = try await change(
            app, progress, begins: begins ? kept : nil, closes: hour, hour: counted.table.stored,
            // The names that the day has no more are removed.
            day: Set(before.sums.keys).union(counted.table.sums.keys).compactMap { key in
                before.sums[key] == sums.sums[key] ? nil : (key.stored, sums.sums[key]?.stored ?? "")
            },
            watched: counted.watched.prefix(Self.mostWatched).map { ($0.id.description, $0.stored) })
        try reached(.written)
        return true
    }

    /// Changes the sums in one step, unless they no longer match `progress`.
    private func change(
        _ app: AppKey, _ progress: Progress, begins: Int64? = nil, closes: Int64? = nil, corrects: Int64? = nil,
        hour: [(String, String)] = [], day: [(String, String)] = [], watched: [(String, String)] = []
    ) async throws(StoreError) -> Bool {
        let number = closes ?? corrects ?? 0
        let dayNumber = number * Period.hour.length / Period.day.length
        return try await redis.run(
            Lua.sumsChange,
            keys: [
                "state": keys.sumsState(app), "hour": keys.hourSums(app, number),
                "day": keys.daySums(app, dayNumber), "open": keys.watchedPushes(app),
            ],
            [
                "revision": .string("\(progress.revision)"), "begins": .string(begins.map { "\($0)" } ?? ""),
                "closes": .string(closes.map { "\($0)" } ?? ""), "after": .string(closes.map { "\($0 + 1)" } ?? ""),
                "hourLife": .int(Period.hour.life), "dayLife": .int(Period.day.life),
                "hourFields": .int(hour.count), "dayFields": .int(day.count), "most": .int(Self.mostOfCommand),
            ],
            rest: (hour + day + watched).flatMap { [.string($0.0), .string($0.1)] }
        ).isOne()
    }

    // MARK: - Drafts

    /// Open hours whose drafts are to be made anew, the newest first: the last two every half minute, because pushes
    /// still join them, the others every hour. A draft that takes long is made less often, so that a process spends no
    /// more than a hundredth of its time.
    private func dueDrafts(_ app: AppKey) async throws(StoreError) -> [(hour: Int64, took: Int64)] {
        let now = time.now()
        let newest = now / Period.hour.length
        guard let next = try await progress(app).next, next <= newest else { return [] }
        let hours = Array(stride(from: newest, through: max(next, newest - 30), by: -1))
        return try await drafts(app, hours).filter { hour, at, took in
            let least: Int64 = hour >= newest - 1 ? 30_000 : Period.hour.length
            // After the clock was set back, a draft is from a time that lies ahead.
            return !(0..<max(least, 100 * took)).contains(now - at)
        }.map { ($0.hour, $0.took) }
    }

    private func drafts(
        _ app: AppKey, _ hours: [Int64]
    ) async throws(StoreError) -> [(hour: Int64, at: Int64, took: Int64)] {
        let names = ["at", "took"]
        let replies = try await redis.run(
            hours.map { RedisCommand("HMGET", keys.hourSums(app, $0), names.map { .string($0) }) })
        return try zip(hours, replies).map { (hour, reply) throws(StoreError) in
            let fields = try StoredHash(names, reply)
            return (hour, Int64(fields.number("at") ?? 0), Int64(fields.number("took") ?? 0))
        }
    }

    /// Adds up an open hour anew.
    /// - Parameter most: an hour of more pushes stays as it is. Nil: there is no bound.
    func draft(_ app: AppKey, hour: Int64, most: Int? = nil) async throws(StoreError) {
        let begin = time.now()
        guard var counted = try await count(app, hour: hour, most: most) else { return }
        counted.table.keepNames(SumTable.mostNames)
        try reached(.drafted)
        let fields = counted.table.stored + [("at", "\(begin)"), ("took", "\(max(0, time.now() - begin))")]
        _ = try await redis.run(
            Lua.sumsDraft, keys: ["state": keys.sumsState(app), "hour": keys.hourSums(app, hour)],
            ["number": .int(hour), "life": .int(Period.hour.life), "most": .int(Self.mostOfCommand)],
            rest: fields.flatMap { [.string($0.0), .string($0.1)] })
    }

    /// Writes down how many followers the app has in this hour.
    private func noteFollowers(_ app: AppKey, hour: Int64) async throws(StoreError) {
        let count = try await redis.run(quotas.followers(app, now: time.now())).integer()
        let key = keys.dayFollowers(app, hour * Period.hour.length / Period.day.length)
        try await redis.run([
            RedisCommand("HSET", key, .int(hour), .int(count)), RedisCommand("PEXPIRE", key, .int(Period.day.life)),
        ])
    }

    /// Makes the drafts of the last two hours anew before somebody reads them, if that is quick.
    public func freshen(_ app: AppKey) async throws(StoreError) {
        let now = time.now()
        let newest = now / Period.hour.length
        for (hour, at, took) in try await drafts(app, [newest, newest - 1])
        where took <= 200 && !(0..<2_000 + 20 * took).contains(now - at) {
            try await draft(app, hour: hour, most: Self.mostFreshened)
        }
    }

    // MARK: - Corrections

    /// Looks again at the watched pushes of closed hours, and corrects the sums of the pushes that have changed.
    func correct(_ app: AppKey) async throws(StoreError) {
        let found = try await redis.hash(keys.watchedPushes(app)).pairs.map { id, text in
            (id: id, push: WatchedPush(id: id, stored: text))
        }
        if found.isEmpty { return }
        let now = time.now()
        let watched = found.compactMap(\.push)
        let records = try await records(app, watched.map { ($0.id, $0.name) })
        // Nothing more becomes known of an entry that nobody can read.
        var changes: [Int64: [(old: WatchedPush?, new: WatchedPush?, id: String)]] = [:]
        for entry in found where entry.push == nil { changes[0, default: []].append((nil, nil, entry.id)) }
        for (old, record) in zip(watched, records) {
            let new = record.map { WatchedPush(old.id, old.name, hour: old.hour, $0) }
            if let new, new.counts == old.counts, new.mayChange(now) { continue }
            changes[old.hour, default: []].append((old, new, old.id.description))
        }
        for (hour, pushes) in changes { try await correct(app, hour: hour, pushes, now: now) }
    }

    private func correct(
        _ app: AppKey, hour: Int64, _ pushes: [(old: WatchedPush?, new: WatchedPush?, id: String)], now: Int64
    ) async throws(StoreError) {
        let progress = try await progress(app)
        let day = hour * Period.hour.length / Period.day.length
        let inHour = try await corrected(keys.hourSums(app, hour), pushes)
        let inDay = try await corrected(keys.daySums(app, day), pushes)
        _ = try await change(
            app, progress, corrects: hour, hour: inHour, day: inDay,
            watched: pushes.map { _, new, id in (id, new.flatMap { $0.mayChange(now) ? $0.stored : nil } ?? "") })
        try reached(.corrected)
    }

    /// The sums of an hour or a day that change, as they are then.
    private func corrected(
        _ key: RedisKey, _ pushes: [(old: WatchedPush?, new: WatchedPush?, id: String)]
    ) async throws(StoreError) -> [(String, String)] {
        let fields = Set(pushes.compactMap(\.old).flatMap { [$0.key(nil), $0.key($0.name)] })
        let names = fields.map(\.stored)
        if names.isEmpty { return [] }
        let stored = try StoredHash(names, await redis.run("HMGET", key, names.map { .string($0) }))
        var sums: [SumKey: SumCounts] = [:]
        // A name that is not one of the first thousand has no sums, nor has an hour that is over.
        for field in fields { sums[field] = stored.text(field.stored).map { SumCounts(stored: $0) } }
        for case (let old?, let new?, _) in pushes {
            for field in [old.key(nil), old.key(old.name)] {
                sums[field]? -= old.counts
                sums[field]? += new.counts
            }
        }
        return sums.map { ($0.key.stored, $0.value.stored) }
    }
}
