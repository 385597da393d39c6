public import LiveActivity
import Redis

/// The lists of an app from which a worker removes what is gone.
public enum CleanupList: Sendable, Hashable, CaseIterable {
    case names, largeNames, forgetSteps, alarms, deadLetters, quarantine

    fileprivate func key(_ app: AppKey, _ keys: Keyspace) -> RedisKey {
        switch self {
        case .names: keys.names(app)
        case .largeNames: keys.largeNames(app)
        case .forgetSteps: keys.forgetSteps(app)
        case .alarms: keys.alarm(app)
        case .deadLetters: keys.deadIndex(app)
        case .quarantine: keys.quarantinedNames(app)
        }
    }
}

extension Store {
    /// The lists that hold something. With one server that is two commands for all apps, if none or all have names and
    /// nothing else is listed.
    public func listsToTidy(_ apps: [AppKey]) async throws(StoreError) -> [AppKey: Set<CleanupList>] {
        let places = apps.flatMap { app in CleanupList.allCases.map { (app: app, list: $0, key: $0.key(app, keys)) } }
        // Nearly every app has names, and few have anything else.
        let names = try await redis.holding(places.filter { $0.list == .names }.map(\.key))
        let others = try await redis.holding(places.filter { $0.list != .names }.map(\.key))
        var lists: [AppKey: Set<CleanupList>] = [:]
        for place in places where names.contains(place.key) || others.contains(place.key) {
            lists[place.app, default: []].insert(place.list)
        }
        return lists
    }
}
