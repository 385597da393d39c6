import LiveActivity
import Store

/// Removes entries from an app's lists when their subject is gone, a little at a time, so that no list grows for ever.
/// Every worker does this. The next turn finds entries that one turn left.
struct Tidying: Sendable {
    /// How many entries one step looks at, and how many steps one turn has while most of the entries are gone.
    private static let (step, steps) = (500, 20)
    /// Parts of the index of channels that one turn looks at. One worker sees all 65,536 about every six hours.
    private static let followingBuckets = 30
    let store: Store
    /// Where the last look at each app's names ended.
    private var cursors: [AppKey: [UInt8]] = [:]
    private var oldPushes: [AppKey: OldPushes] = [:]

    init(_ store: Store) { self.store = store }

    /// - Parameter mostPushes: how many pushes of the app are kept, about. 0 = no limit.
    mutating func run(_ app: AppKey, mostPushes: Int) async throws(StoreError) {
        for _ in 0..<Self.steps {
            let (next, removed) = try await store.names.tidy(app, after: cursors[app], limit: Self.step)
            cursors[app] = next
            if removed == 0 || removed < Self.step / 2 && !next.isEmpty { break }
        }
        for _ in 0..<Self.steps where try await store.forgetting.runDue(app, limit: Self.step) < Self.step { break }
        try await store.alarms.tellEnded(app)
        _ = try await store.followings.tidy(app, hashes: Self.followingBuckets)
        for _ in 0..<Self.steps where try await store.deadLetters.tidy(app, limit: Self.step) < Self.step { break }
        for _ in 0..<Self.steps where try await store.quarantine.tidy(app, limit: Self.step) < Self.step { break }
        for _ in 0..<Self.steps {
            let removed = try await store.pushes.forgetOldest(
                app, most: mostPushes, limit: Self.step, &oldPushes[app, default: OldPushes()])
            if removed == nil { break }
        }
    }
}
