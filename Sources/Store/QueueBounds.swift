public import LiveActivity
import Redis
import Synchronization

/// What is full when a publish is refused.
public enum QueueScope: Sendable, Hashable {
    /// Pushes of one name that no newer push may replace (`Pushes.mostUnswept`).
    case name
    /// The app's queues (`gateway.max_queue`).
    case app
    /// The queues of all apps together (`gateway.max_queue_total`).
    case total
}

/// How much accepted work may wait, and how much did when this process last looked.
///
/// Work is counted in entries of an app's streams and timer: one for a name that waits to be swept or is being swept, however
/// many publishes replaced each other there; one for a shard in line or in hand; one for a name whose tokens wait for another
/// attempt. It is measured with each publish, so that several gateways together pass a bound by no more than they have
/// publishes in work at once.
public final class QueueBounds: Sendable {
    /// The other apps' share of the total is measured again after this long.
    static let staleAfter: Int64 = 1_000

    let apps: [AppKey]
    let perApp: Int
    let total: Int
    private let depths: Mutex<[AppKey: (entries: Int, measuredAt: Int64)]>

    /// `apps` are all that are served; `perApp` and `total` count entries.
    public init(apps: [AppKey], perApp: Int, total: Int) {
        self.apps = apps
        self.perApp = perApp
        self.total = total
        depths = Mutex([:])
    }

    /// Nil while there is room.
    func full(for app: AppKey) -> QueueScope? {
        depths.withLock { depths in
            if depths[app]?.entries ?? 0 >= perApp { return .app }
            return depths.values.reduce(0) { $0 + $1.entries } >= total ? .total : nil
        }
    }

    /// The apps to be measured along with a publish of `app`; `now` on the boot clock.
    func unmeasured(besides app: AppKey, now: Int64) -> [AppKey] {
        depths.withLock { depths in
            apps.filter { other in
                other == app || depths[other].map { now - $0.measuredAt >= Self.staleAfter } ?? true
            }
        }
    }

    /// `replies` to `Keyspace.depth` of each app; what Redis did not tell stays as it was.
    func note(_ apps: [AppKey], _ replies: ArraySlice<RedisReply>) {
        let now = bootClock()
        for (index, app) in apps.enumerated() {
            let start = replies.startIndex + index * Keyspace.depthCommands
            let lengths = replies[start..<start + Keyspace.depthCommands].compactMap { try? $0.integer() }
            guard lengths.count == Keyspace.depthCommands else { continue }
            depths.withLock { $0[app] = (lengths.reduce(0, +), now) }
        }
    }
}

/// Whether a name's next publish will need an entry: a guess from the last one, so that a name at rest is woken in the same
/// round trip, and a busy one costs no entries for nothing. The accept script has the last word.
final class WakeGuess: Sendable {
    private static let most = 10_000
    /// Names, by route, whose last publish needed none.
    private let quiet = Mutex(Set<String>())

    func needsEntry(_ route: String) -> Bool { quiet.withLock { !$0.contains(route) } }

    func learn(_ route: String, needed: Bool) {
        quiet.withLock { quiet in
            if needed {
                quiet.remove(route)
            } else {
                if quiet.count >= Self.most { quiet = [] }
                quiet.insert(route)
            }
        }
    }
}
