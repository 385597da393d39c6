package import LiveActivity
package import Redis

extension Lua {
    package static let sumsDraft = script("sums-draft")
    package static let sumsChange = script("sums-change")
}

/// The keys of one app's sums are on the app's slot, because one script changes several of them.
extension Keyspace {
    /// How far the pushes of an app are added up.
    package func sumsState(_ app: AppKey) -> RedisKey { key("su:{\(app)}") }
    /// The process that adds up the app's pushes.
    package func sumsLease(_ app: AppKey) -> RedisKey { key("su:{\(app)}:lease") }
    /// Pushes of closed hours that may still change, with what was counted of them.
    package func watchedPushes(_ app: AppKey) -> RedisKey { key("su:{\(app)}:open") }
    /// The sums of an hour since 1970.
    package func hourSums(_ app: AppKey, _ hour: Int64) -> RedisKey { key("su:{\(app)}:h:\(hour)") }
    /// The sums of a day since 1970, of its closed hours.
    package func daySums(_ app: AppKey, _ day: Int64) -> RedisKey { key("su:{\(app)}:d:\(day)") }
    /// The followers of a day since 1970, by hour.
    package func dayFollowers(_ app: AppKey, _ day: Int64) -> RedisKey { key("su:{\(app)}:f:\(day)") }
    /// The devices that got a push of the app on a day since 1970.
    package func deviceSketch(_ app: AppKey, _ day: Int64) -> RedisKey { key("su:{\(app)}:u:\(day)") }
}
