public import LiveActivity
import Redis
import Synchronization

/// Which queue is full when a publish is refused.
public enum QueueScope: Sendable, Hashable {
    /// The pushes of one name that cannot be superseded (`Pushes.mostUnswept`).
    case name
    /// The app's queues (`gateway.max_queue`).
    case app
    /// The queues of all apps together (`gateway.max_queue_total`).
    case total
}

/// How much accepted work may wait, and how much waited when this process last looked.
///
/// Work is counted in entries of an app's streams and timer: one for a name that waits or is swept, for a waiting or
/// claimed shard, and for a name with waiting channels. Every publish measures its app, so gateways together exceed a
/// bound by at most the publishes that they handle at the same time.
public final class QueueBounds: Sendable {
    /// The queues of other apps are measured again after this many milliseconds.
    static let staleAfter: Int64 = 1_000

    let apps: [AppKey]
    let perApp: Int
    let total: Int
    private let depths = Mutex<[AppKey: (entries: Int, measuredAt: Int64)]>([:])

    /// - Parameter apps: all apps that the deployment serves. The other two are most entries of one app and of all.
    public init(apps: [AppKey], perApp: Int, total: Int) {
        self.apps = apps
        self.perApp = perApp
        self.total = total
    }

    /// The queue that is full; nil if there is room.
    func fullQueue(for app: AppKey) -> QueueScope? {
        depths.withLock { depths in
            if depths[app]?.entries ?? 0 >= perApp { return .app }
            return depths.values.reduce(0) { $0 + $1.entries } >= total ? .total : nil
        }
    }

    /// The apps whose queues a publish of `app` measures. `now` is on the boot clock.
    func toMeasure(for app: AppKey, now: Int64) -> [AppKey] {
        depths.withLock { depths in
            apps.filter { $0 == app || depths[$0].map { now - $0.measuredAt >= Self.staleAfter } ?? true }
        }
    }

    /// Notes the replies to `Keyspace.depth` of each app. An app without a usable reply keeps its last numbers.
    func note(_ apps: [AppKey], _ replies: ArraySlice<Reply>) {
        let now = bootClock()
        for (index, app) in apps.enumerated() {
            let start = replies.startIndex + index * Keyspace.depthCommands
            let lengths = replies[start..<start + Keyspace.depthCommands].compactMap { try? $0.integer() }
            guard lengths.count == Keyspace.depthCommands else { continue }
            depths.withLock { $0[app] = (lengths.reduce(0, +), now) }
        }
    }
}
