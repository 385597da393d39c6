import LiveActivity
import Synchronization

/// Remembers the names that are like a name without followers, for the rest of a window of time. A search asks Redis
/// for some hundred names and a thousand spellings, so an app may begin only a few searches in a window.
final class NearNames: Sendable {
    /// The most searches for one app in one window, in this process.
    static let mostSearches = 20
    /// Milliseconds.
    static let window: Int64 = 10_000

    private struct Window {
        var began: Int64
        var searches = 0
        var found: [ActivityName: [String]] = [:]
    }

    private let windows = Mutex<[AppKey: Window]>([:])

    /// Names like `name`: the result of an earlier search of the window, or of `search`. `now` is in epoch ms.
    /// - Returns: nil if the app has no search left in this window, or if the search failed.
    func near(_ name: ActivityName, _ app: AppKey, now: Int64, search: () async -> [String]?) async -> [String]? {
        let (known, maySearch) = reserve(name, app, now)
        guard maySearch, let names = await search() else { return known }
        windows.withLock { $0[app]?.found[name] = names }
        return names
    }

    private func reserve(_ name: ActivityName, _ app: AppKey, _ now: Int64) -> (known: [String]?, maySearch: Bool) {
        windows.withLock { windows in
            var window = windows[app] ?? Window(began: now)
            // The difference is negative if the clock was set back.
            if !(0..<Self.window).contains(now - window.began) { window = Window(began: now) }
            defer { windows[app] = window }
            let known = window.found[name]
            guard known == nil, window.searches < Self.mostSearches else { return (known, false) }
            window.searches += 1
            return (nil, true)
        }
    }
}
