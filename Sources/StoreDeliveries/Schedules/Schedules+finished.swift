public import LiveActivity
import Redis
public import StoreGround

/// The list of schedules that were sent, failed or were cancelled. A schedule is listed before its record
/// says so. After a crash in between, the list has a schedule that still waits or is claimed. Readers skip it. It is
/// listed again when it finishes.
extension Schedules {
    /// How many old entries each call removes, so that the list does not grow while schedules come and go.
    private static let tidiedAtOnce = 100

    func noteFinished(_ app: AppKey, _ id: PushID, now: Int64) async throws(StoreError) {
        let list = keys.finishedSchedules(app)
        let (_, _, old) = try await redis.run([
            RedisCommand("ZADD", list, .int(now), .bytes(id.uuid.bytes)),
            RedisCommand("PEXPIRE", list, .int(keys.retention)),
            RedisCommand(
                "ZRANGEBYSCORE", list, "-inf", .int(now - keys.retention), "LIMIT", "0", .int(Self.tidiedAtOnce)),
        ]).values(.any("ZADD"), .any("PEXPIRE"), .byteStrings("old schedules"))
        if !old.isEmpty { try await redis.run("ZREM", list, old.map { .bytes($0) }) }
    }

    /// Lists the finished schedules that are still kept, the latest first.
    /// - Parameters:
    ///   - listed: with `failed`, a page has the failed schedules among `limit` finished ones
    ///   - prefix: the beginning of the names; nil for all names
    ///   - start: the first schedule of the page, or nil. An unlisted one is behind all others.
    /// - Returns: the schedules, about how many there are, and where the next page starts.
    public func finished(
        _ app: AppKey, _ listed: ListedSchedules = .finished, namesFrom prefix: String? = nil, start: PushID?,
        limit: Int
    ) async throws(StoreError) -> (schedules: [Schedule], total: Int, next: PushID?) {
        if let prefix { return try await over(app, listed, namesFrom: prefix, start, limit) }
        let list = keys.finishedSchedules(app)
        var first = 0
        if let start {
            let rank = try await redis.run("ZREVRANK", list, .bytes(start.uuid.bytes))
            if rank.isNil { return ([], try await redis.run("ZCARD", list).integer(), nil) }
            first = try rank.integer()
        }
        let (total, members) = try await redis.run([
            RedisCommand("ZCARD", list), RedisCommand("ZREVRANGE", list, .int(first), .int(first + limit)),
        ]).values(.integer("total"), .byteStrings("schedules"))
        let ids = members.compactMap { UUIDBytes(bytes: $0).map(PushID.init) }
        let page = Array(ids.prefix(limit))
        let wanted = listed == .failed ? try await own(app, page, listed) { _ in true } : page
        let found = try await find(app, wanted).compactMap(\.self).filter { listed.has($0.state) }
        return (found, total, ids.count > limit ? ids[limit] : nil)
    }

    /// The ids of the list, the latest first.
    /// - Parameter last: the place of the last one; -1: all
    func finishedIDs(_ app: AppKey, last: Int) async throws(StoreError) -> [PushID] {
        try await redis.run("ZREVRANGE", keys.finishedSchedules(app), "0", .int(last)).byteStrings()
            .compactMap { UUIDBytes(bytes: $0).map(PushID.init) }
    }

    /// The makers of the last schedules that were not sent, because their names had a push that the sender did not see,
    /// and when each failed (epoch ms).
    /// - Parameter last: how many finished schedules are looked at
    public func conflicts(_ app: AppKey, last: Int) async throws(StoreError) -> [(by: Publisher, at: Int64)] {
        let fields: [RedisArgument] = ["reason", "by", "finished"]
        let replies = try await redis.run(
            finishedIDs(app, last: last - 1).map { RedisCommand("HMGET", keys.schedule(app, $0), fields) })
        var found: [(by: Publisher, at: Int64)] = []
        for reply in replies {
            let (reason, by, at) = try reply.values(
                .optionalString("reason"), .optionalString("by"), .optionalNumber("finished"))
            guard reason == AcceptanceRefusal.conflictWord, let at, let by = by.flatMap({ Publisher(stored: $0) })
            else {
                continue
            }
            found.append((by, Int64(at)))
        }
        return found
    }

    private func over(
        _ app: AppKey, _ listed: ListedSchedules, namesFrom prefix: String, _ start: PushID?, _ limit: Int
    ) async throws(StoreError) -> (schedules: [Schedule], total: Int, next: PushID?) {
        let own = try await own(app, finishedIDs(app, last: -1), listed) { $0.starts(with: prefix.utf8) }
        let first = start.map { own.firstIndex(of: $0) ?? own.count } ?? 0
        var page = try await page(app, own, first, limit)
        page.schedules.removeAll { !listed.has($0.state) }
        return page
    }
}
