import LiveActivity
import Redis
package import StoreGround
import Synchronization

/// How many names, channels, followers, start tokens and tags an app has, as this process last measured it, and their
/// limits.
///
/// Names are counted by their index. The others are estimated by HyperLogLogs of the ids that calls named in a period.
/// One takes 12 KB and has an error of about 1 %. It counts a removed id until its period is over. The counting
/// commands travel with the calls that they count, so they cost no round trip. Processes may pass a limit by what they
/// add between two measurements. A call asks whether it adds something only while a quota is full.
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
    private struct Measurement {
        var count = 0
        var askedAt: Int64?
    }
    private final class Meters: Sendable { let measurements = Mutex<[Key: Measurement]>([:]) }

    /// Commands that travel with a call. `measures` says that the last of them reads the count.
    struct Count {
        var commands: [RedisCommand] = []
        var measures = false
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
        return meters.measurements.withLock { $0[Key(quota: quota, app: app)]?.count ?? 0 } >= limit
    }

    /// Returns the command that measures the names, if a measurement is due. Give its reply to `note`.
    func countNames(_ app: AppKey, now: Int64) -> Count {
        guard limit(.names) > 0, isDue(.names, app, now) else { return Count() }
        return Count(commands: [RedisCommand("ZCARD", keys.names(app))], measures: true)
    }

    /// Returns commands that count a call's ids, and that measure if it is time. Give their replies to `note`.
    /// Without `ids` they only measure. `life` is how long an id is kept, ms; 0 = for ever.
    func count(_ quota: Quota, _ app: AppKey, _ ids: [RedisArgument], life: Int64, now: Int64) -> Count {
        guard limit(quota) > 0 else { return Count() }
        let period = max(1, life / Self.pastPeriods)
        let current = life == 0 ? 0 : now / period
        let sketches = (0...(life == 0 ? 0 : Self.pastPeriods)).map { keys.seen(app, quota, current - $0) }
        let add = ids.parts(of: Self.mostAtOnce).map { RedisCommand("PFADD", sketches[0], Array($0)) }
        guard isDue(quota, app, now) else { return Count(commands: add) }
        let lasts = life == 0 ? [] : [RedisCommand("PEXPIRE", sketches[0], .int(period * (Self.pastPeriods + 2)))]
        return Count(commands: add + lasts + [RedisCommand("PFCOUNT", sketches.map { .key($0) })], measures: true)
    }

    /// Stores the number that a count measured, if any. An error reply changes nothing, so no call fails for it.
    func note(_ quota: Quota, _ app: AppKey, _ count: Count, _ replies: ArraySlice<Reply>) {
        guard count.measures, replies.count == count.commands.count, let count = try? replies.last?.integer()
        else { return }
        meters.measurements.withLock { $0[Key(quota: quota, app: app), default: Measurement()].count = count }
    }

    private func isDue(_ quota: Quota, _ app: AppKey, _ now: Int64) -> Bool {
        let interval = isFull(quota, app) ? Self.intervalWhileFull : Self.interval
        return meters.measurements.withLock { measurements in
            let key = Key(quota: quota, app: app)
            if let askedAt = measurements[key]?.askedAt, (0..<interval).contains(now - askedAt) { return false }
            measurements[key, default: Measurement()].askedAt = now
            return true
        }
    }
}

extension Registry {
    /// Throws `quotaReached` if the channels add a name or follower beyond its quota. No round trip if there is room.
    func requireRoom(_ place: PlaceKeys, _ channels: [[UInt8]]) async throws(StoreError) {
        let (app, quota, now) = (place.key.app, place.quota, clock())
        if quotas.isFull(quota, app) {
            let measure = quotas.count(quota, app, [], life: place.span.retention, now: now)
            if measure.measures { quotas.note(quota, app, measure, try await redis.replies(measure.commands)[...]) }
            if quotas.isFull(quota, app), try await tokens.lookup(place, channels).entries.contains(nil) {
                throw .quotaReached(quota, limit: quotas.limit(quota))
            }
        }
        guard case .activity(let name) = place.key.tokens, quotas.isFull(.names, app),
            buckets.memory.needsListing(place.key, now: now)
        else { return }
        let known = [RedisCommand("ZSCORE", keys.names(app), .string(name.rawValue))]
        let measure = quotas.countNames(app, now: now)
        let replies = try await redis.replies(known + measure.commands)
        quotas.note(.names, app, measure, replies.dropFirst(known.count))
        if quotas.isFull(.names, app), replies[0].isNil { throw .quotaReached(.names, limit: quotas.limit(.names)) }
    }

    /// Returns commands that count the channels of a call as followers, or as start tokens, of the app.
    func counting(_ place: PlaceKeys, _ channels: [[UInt8]]) -> (quota: Quota, count: Quotas.Count) {
        let quota = place.quota
        guard quotas.limit(quota) > 0 else { return (quota, Quotas.Count()) }
        let name = Array(place.key.tokens.stored.utf8) + [0]
        let ids = channels.map { RedisArgument.bytes(name + $0) }
        return (quota, quotas.count(quota, place.key.app, ids, life: place.span.retention, now: clock()))
    }
}

extension PlaceKeys {
    fileprivate var quota: Quota { key.tokens.isForStartTokens ? .startTokens : .followers }
}
