import LiveActivity
import Store

/// Removes entries from an app's lists when their subject is gone, a little at a time, so that no list grows for ever.
/// Every worker does this. The next turn finds entries that one turn left.
struct Tidying: Sendable {
    /// How many entries one step looks at, and how many steps one turn has while most of the entries are gone.
    private static let (step, steps) = (500, 20)
    /// Parts of the index of channels that one look at it covers, and the turns from one look to the next. One worker
    /// sees all 65,536 about every six hours.
    private static let (followingBuckets, followingTurns) = (300, 10)
    /// The most turns for which the names of an app rest: five minutes.
    private static let longestRest = 30
    let store: Store
    private var turn = 0
    private var apps: [AppKey: State] = [:]

    private struct State {
        /// Where the last look at the names ended. Nil: it begins at a random name.
        var name: [UInt8]?
        /// Whether this time around the list began at its beginning, and whether it has removed a name.
        var isWhole = false
        var hasRemoved = false
        /// The pause after the last time around the list in which no name was removed, and the turn at which it ends.
        var rest = 0
        var restsUntil = 0
        /// The next part of the index of channels.
        var bucket = Int.random(in: 0..<FollowingIndex.size)
        /// Not all apps are looked at in one turn.
        let offset = Int.random(in: 0..<followingTurns)
        var oldPushes = OldPushes()
    }

    init(_ store: Store) { self.store = store }

    /// Begins a turn.
    /// - Returns: the lists of each app that hold something.
    mutating func begin(_ apps: [AppKey]) async throws(StoreError) -> [AppKey: Set<CleanupList>] {
        turn += 1
        return try await store.listsToTidy(apps)
    }

    /// - Parameter mostPushes: how many pushes of the app are kept, about. 0 = no limit.
    mutating func run(_ app: AppKey, _ lists: Set<CleanupList>, mostPushes: Int) async throws(StoreError) {
        var state = apps[app] ?? State()
        defer { apps[app] = state }
        if lists.contains(.names), turn >= state.restsUntil { try await tidyNames(app, &state) }
        if lists.contains(.forgetSteps) {
            for _ in 0..<Self.steps where try await store.forgetting.runDue(app, limit: Self.step) < Self.step { break }
        }
        if lists.contains(.alarms) { try await store.alarms.tellEnded(app) }
        if (turn + state.offset).isMultiple(of: Self.followingTurns) {
            _ = try await store.followings.tidy(app, from: state.bucket, count: Self.followingBuckets)
            state.bucket = (state.bucket + Self.followingBuckets) % FollowingIndex.size
            if lists.contains(.largeNames) { try await store.followings.tidyLargeNames(app) }
        }
        if lists.contains(.deadLetters) {
            for _ in 0..<Self.steps where try await store.deadLetters.tidy(app, limit: Self.step) < Self.step { break }
        }
        if lists.contains(.quarantine) {
            for _ in 0..<Self.steps where try await store.quarantine.tidy(app, limit: Self.step) < Self.step { break }
        }
        for _ in 0..<Self.steps {
            let removed = try await store.pushes.forgetOldest(
                app, most: mostPushes, limit: Self.step, &state.oldPushes)
            if removed == nil { break }
        }
    }

    /// Looks at the next names. Each needs a script, so the names of an app rest while none of them is gone.
    private func tidyNames(_ app: AppKey, _ state: inout State) async throws(StoreError) {
        for _ in 0..<Self.steps {
            let (next, removed) = try await store.names.tidy(app, after: state.name, limit: Self.step)
            state.name = next
            state.hasRemoved = state.hasRemoved || removed > 0
            if next.isEmpty {
                let mayRest = state.isWhole && !state.hasRemoved
                state.rest = mayRest ? min(max(1, 2 * state.rest), Self.longestRest) : 0
                state.restsUntil = turn + 1 + state.rest
                (state.isWhole, state.hasRemoved) = (true, false)
            }
            if removed == 0 || removed < Self.step / 2 && !next.isEmpty { break }
        }
    }
}
