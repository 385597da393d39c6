package import LiveActivity
package import Redis
package import StoreGround
import Synchronization

/// How many names, channels, followers, start tokens and tags an app has, as this process last measured it, and their
/// limits.
///
/// Names are counted by their index. The others are estimated by HyperLogLogs of the ids that calls named in a period.
/// One takes 12 KB and has an error of about 1 %. It counts a removed id until its period is over. The counting
/// commands travel with the calls that they count, so they cost no round trip. A process measures again after 0.5 % of
/// the limit that its calls may have added. At 1 % it holds calls back (`admitting`). So each process passes a limit by
/// 1 % and one call at most. A call asks whether it adds something only while a quota is full.
package struct Quotas: Sendable {
    /// The least time between two measurements by one process, ms. The second is for a quota that is full.
    static let interval: Int64 = 10_000
    static let intervalWhileFull: Int64 = 1_000
    /// Periods that are counted besides the current one. Together they are as long as the life of what is counted.
    private static let pastPeriods: Int64 = 2
    /// The most ids of one PFADD, so that it delays nobody.
    private static let mostAtOnce = 10_000

    private struct Key: Hashable {
        var quota: Quota
        var app: AppKey
    }
    private struct Meter {
        /// As last measured.
        var count = 0
        var askedAt: Int64?
        /// Ids of all calls that were let in, and of calls that have ended.
        var entered = 0
        var ended = 0
        /// `entered` when the last measurement was sent.
        var enteredBefore = 0
        /// `ended` when the newest measurement that was answered was sent. It has seen all of these.
        var seen = 0
        /// A call measures for all that wait.
        var isAwaited = false
        var waiting: [CheckedContinuation<Void, Never>] = []

        mutating func wake() -> [CheckedContinuation<Void, Never>] {
            defer { waiting = [] }
            return waiting
        }
    }
    private final class Meters: Sendable { let meters = Mutex<[Key: Meter]>([:]) }

    /// Commands that travel with a call. If it measures, the last of them reads the count.
    struct Count {
        var commands: [RedisCommand] = []
        /// The ids that this measurement sees. Nil: it does not measure.
        fileprivate var sees: Int?

        var measures: Bool { sees != nil }
    }

    /// 0 or absent means no limit.
    package var limits: [Quota: Int] = [:]
    let keys: Keyspace
    private let meters = Meters()

    /// Whether everybody with the app can make these calls. The last tenth of each quota is not for them. Otherwise a
    /// stranger who fills it shuts out the app's own servers too.
    package var areForApps = false

    /// The limit for these calls.
    func limit(_ quota: Quota) -> Int {
        let limit = limits[quota] ?? 0
        return areForApps ? limit - limit / 10 : limit
    }

    func isFull(_ quota: Quota, _ app: AppKey) -> Bool {
        let limit = limit(quota)
        guard limit > 0 else { return false }
        return meter(quota, app) { $0.count } >= limit
    }

    /// Returns the command that measures the names, if a measurement is due. Give its reply to `note`.
    func countNames(_ app: AppKey, now: Int64) -> Count {
        guard limit(.names) > 0, isDue(.names, app, now) else { return Count() }
        return measurement(.names, app, life: 0, now: now)
    }

    /// Returns commands that count a call's ids, and that measure if it is time. Give their replies to `note`.
    /// Without `ids` they only measure. `life` is how long an id is kept, ms; 0 = for ever.
    func count(_ quota: Quota, _ app: AppKey, _ ids: [RedisArgument], life: Int64, now: Int64) -> Count {
        guard limit(quota) > 0 else { return Count() }
        let current = sketches(quota, app, life: life, now: now)[0]
        let add = ids.parts(of: Self.mostAtOnce).map { RedisCommand("PFADD", current, Array($0)) }
        guard isDue(quota, app, now) else { return Count(commands: add) }
        var count = measurement(quota, app, life: life, now: now)
        let lasts =
            life == 0 ? [] : [RedisCommand("PEXPIRE", current, .int(Self.period(life) * (Self.pastPeriods + 2)))]
        count.commands = add + lasts + count.commands
        return count
    }

    /// Stores the number that a count measured, if any. An error reply changes nothing, so no call fails for it.
    func note(_ quota: Quota, _ app: AppKey, _ count: Count, _ replies: ArraySlice<Reply>) {
        guard let seen = count.sees, replies.count == count.commands.count else { return }
        let number = try? replies.last?.integer()
        let woken = meter(quota, app) { meter in
            meter.count = number ?? meter.count
            meter.seen = max(meter.seen, seen)
            return meter.wake()
        }
        for waiting in woken { waiting.resume() }
    }

    private func measurement(_ quota: Quota, _ app: AppKey, life: Int64, now: Int64) -> Count {
        let sees = meter(quota, app) { meter in
            (meter.askedAt, meter.enteredBefore) = (now, meter.entered)
            return meter.ended
        }
        let command =
            quota == .names
            ? RedisCommand("ZCARD", keys.names(app))
            : RedisCommand("PFCOUNT", sketches(quota, app, life: life, now: now).map { .key($0) })
        return Count(commands: [command], sees: sees)
    }

    /// The current period's first.
    private func sketches(_ quota: Quota, _ app: AppKey, life: Int64, now: Int64) -> [RedisKey] {
        let current = life == 0 ? 0 : now / Self.period(life)
        return (0...(life == 0 ? 0 : Self.pastPeriods)).map { keys.seen(app, quota, current - $0) }
    }

    /// The command that estimates how many followers an app's names have together. 0 if they have no limit.
    package func followers(_ app: AppKey, now: Int64) -> RedisCommand {
        let life = RegistryRecord.Lifetime.activity.retention
        return RedisCommand("PFCOUNT", sketches(.followers, app, life: life, now: now).map { .key($0) })
    }

    private static func period(_ life: Int64) -> Int64 { max(1, life / pastPeriods) }

    private func isDue(_ quota: Quota, _ app: AppKey, _ now: Int64) -> Bool {
        let interval = isFull(quota, app) ? Self.intervalWhileFull : Self.interval
        let most = mostUnseen(quota)
        return meter(quota, app) { meter in
            guard let askedAt = meter.askedAt, (0..<interval).contains(now - askedAt) else { return true }
            return 2 * (meter.entered - meter.enteredBefore) >= most
        }
    }

    private func meter<Value>(_ quota: Quota, _ app: AppKey, _ body: (inout Meter) -> Value) -> Value {
        meters.meters.withLock { body(&$0[Key(quota: quota, app: app), default: Meter()]) }
    }
}

extension Quotas {
    private enum Step {
        case enter, measure, wait
    }

    /// The most ids that calls of this process may add before a measurement sees them.
    private func mostUnseen(_ quota: Quota) -> Int { max(1, (limits[quota] ?? 0) / 100) }

    /// Runs a call that may add this many ids. While `mostUnseen` others are unseen, it waits: one of the waiting calls
    /// measures for all. Without this, calls that run at once pass the limit together, and take the last tenth too.
    func admitting<Value>(
        _ quota: Quota, _ app: AppKey, _ ids: Int, life: Int64, _ redis: RedisClient, now: Int64,
        _ body: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        guard limit(quota) > 0, ids > 0 else { return try await body() }
        loop: while true {
            switch step(quota, app, ids) {
            case .enter: break loop
            case .measure: try await measure(quota, app, life: life, redis, now: now)
            case .wait: await wait(quota, app)
            }
        }
        defer { wake(quota, app) { $0.ended += ids } }
        return try await body()
    }

    private func step(_ quota: Quota, _ app: AppKey, _ ids: Int) -> Step {
        let most = mostUnseen(quota)
        return meter(quota, app) { meter in
            if meter.entered - meter.seen < most {
                meter.entered += ids
                return .enter
            }
            // No measurement sees the ids of calls that run.
            if meter.isAwaited || meter.ended == meter.seen { return .wait }
            meter.isAwaited = true
            return .measure
        }
    }

    private func measure(
        _ quota: Quota, _ app: AppKey, life: Int64, _ redis: RedisClient, now: Int64
    ) async throws(StoreError) {
        defer { wake(quota, app) { $0.isAwaited = false } }
        let count = measurement(quota, app, life: life, now: now)
        note(quota, app, count, try await redis.replies(count.commands)[...])
    }

    private func wait(_ quota: Quota, _ app: AppKey) async {
        let most = mostUnseen(quota)
        await withCheckedContinuation { continuation in
            // There may be room since the caller looked.
            let isOpen = meter(quota, app) { meter in
                if meter.entered - meter.seen < most || !meter.isAwaited && meter.ended > meter.seen { return true }
                meter.waiting.append(continuation)
                return false
            }
            if isOpen { continuation.resume() }
        }
    }

    private func wake(_ quota: Quota, _ app: AppKey, _ change: (inout Meter) -> Void) {
        let woken = meter(quota, app) { meter in
            change(&meter)
            return meter.wake()
        }
        for waiting in woken { waiting.resume() }
    }
}

extension Registry {
    /// Makes a call that may add the channels, and the name, if there is room for them.
    func withRoom<Value>(
        _ place: PlaceKeys, _ channels: [[UInt8]], _ body: () async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let (app, now) = (place.key.app, clock())
        func admitting<Result>(
            _ quota: Quota, _ ids: Int, _ body: () async throws(StoreError) -> Result
        ) async throws(StoreError) -> Result {
            try await quotas.admitting(quota, app, ids, life: place.lifetime.retention, redis, now: now, body)
        }
        var names = 0
        if case .activity = place.key.tokens, buckets.memory.needsListing(place.key, now: now) { names = 1 }
        return try await admitting(place.quota, channels.count) { () async throws(StoreError) in
            try await admitting(.names, names) { () async throws(StoreError) in
                try await requireRoom(place, channels)
                return try await body()
            }
        }
    }

    /// Throws `quotaReached` if the channels add a name or follower beyond its quota. No round trip if there is room.
    private func requireRoom(_ place: PlaceKeys, _ channels: [[UInt8]]) async throws(StoreError) {
        let (app, quota, now) = (place.key.app, place.quota, clock())
        if quotas.isFull(quota, app) {
            let measure = quotas.count(quota, app, [], life: place.lifetime.retention, now: now)
            if measure.measures { quotas.note(quota, app, measure, try await redis.replies(measure.commands)[...]) }
            if quotas.isFull(quota, app), try await tokens.lookup(place, channels).entries.contains(nil) {
                throw .quotaReached(quota, limit: quotas.limit(quota))
            }
        }
        guard case .activity(let name) = place.key.tokens, quotas.isFull(.names, app),
            buckets.memory.needsListing(place.key, now: now)
        else { return }
        let known = RedisCommand("ZSCORE", keys.names(app), .string(name.rawValue))
        let measure = quotas.countNames(app, now: now)
        var replies = try await redis.replies([known] + measure.commands)[...]
        let score = replies.removeFirst()
        quotas.note(.names, app, measure, replies)
        if quotas.isFull(.names, app), score.isNil { throw .quotaReached(.names, limit: quotas.limit(.names)) }
    }

    /// Returns commands that count the channels of a call as followers, or as start tokens, of the app.
    func counting(_ place: PlaceKeys, _ channels: [[UInt8]]) -> (quota: Quota, count: Quotas.Count) {
        let quota = place.quota
        guard quotas.limit(quota) > 0 else { return (quota, Quotas.Count()) }
        let name = Array(place.key.tokens.stored.utf8) + [0]
        let ids = channels.map { RedisArgument.bytes(name + $0) }
        return (quota, quotas.count(quota, place.key.app, ids, life: place.lifetime.retention, now: clock()))
    }
}

extension TokenPlace {
    var quota: Quota { isForStartTokens ? .startTokens : .followers }
}

extension PlaceKeys {
    fileprivate var quota: Quota { key.tokens.quota }
}
