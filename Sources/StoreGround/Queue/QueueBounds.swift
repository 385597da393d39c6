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
/// claimed shard, and for a name with waiting channels. A process adds the publishes that it accepted since it last
/// measured. It measures again after a sixteenth of the room that is left, and before it refuses a publish, so up to
/// sixteen gateways together exceed a bound by at most the publishes that they handle at the same time.
public final class QueueBounds: Sendable {
    private struct Depth {
        /// The measured number, and the publishes since.
        var entries = 0
        var publishes = 0
        /// The last reply to each command of `Keyspace.depth`.
        var lengths: [Int] = []
        /// The time of the last measurement on the boot clock. Nil before the first.
        var askedAt: Int64?
    }
    /// The app's own queues are measured again after this many milliseconds, the queues of other apps after
    /// `staleAfter`.
    static let ownStaleAfter: Int64 = 100
    static let staleAfter: Int64 = 1_000
    /// So many entries are read within a part of `HandedPush.life`.
    static let short = 512

    package let apps: [AppKey]
    let perApp: Int
    package let total: Int
    private let depths = Mutex<[AppKey: Depth]>([:])

    /// - Parameter apps: all apps that the deployment serves. The other two are most entries of one app and of all.
    public init(apps: [AppKey], perApp: Int, total: Int) {
        self.apps = apps
        self.perApp = perApp
        self.total = total
    }

    /// The queue that is full; nil if there is room.
    package func fullQueue(for app: AppKey) -> QueueScope? {
        depths.withLock { depths in
            let room = room(for: app, depths)
            return room.app <= 0 ? .app : room.total <= 0 ? .total : nil
        }
    }

    /// Whether the app's streams of names are so short that workers read an entry at once. False before the first
    /// measurement.
    package func isShort(for app: AppKey) -> Bool {
        depths.withLock { depths in
            guard let depth = depths[app], !depth.lengths.isEmpty else { return false }
            // The first two are `WorkStream.namesHigh` and `namesLow`. On one server there is one partition.
            return depth.lengths.prefix(2).reduce(depth.publishes, +) < Self.short
        }
    }

    /// Counts a publish of `app`, and returns the apps whose queues it measures. `now` is on the boot clock.
    package func toMeasure(for app: AppKey, now: Int64) -> [AppKey] {
        depths.withLock { depths in
            depths[app, default: Depth()].publishes += 1
            depths[app, default: Depth()].entries += 1
            let room = room(for: app, depths)
            let due = apps.filter { other in
                guard let depth = depths[other], let askedAt = depth.askedAt else { return true }
                if other != app { return now - askedAt >= Self.staleAfter }
                return now - askedAt >= Self.ownStaleAfter || depth.publishes >= min(room.app, room.total) / 16
            }
            for app in due { depths[app, default: Depth()].askedAt = now }
            return due
        }
    }

    private func room(for app: AppKey, _ depths: [AppKey: Depth]) -> (app: Int, total: Int) {
        (perApp - (depths[app]?.entries ?? 0), total - depths.values.reduce(0) { $0 + $1.entries })
    }

    /// Notes the replies to `Keyspace.depth` of each app, `count` of each. A queue without a usable reply, because its
    /// node is away, keeps its last length.
    package func note(_ apps: [AppKey], _ replies: ArraySlice<Reply?>, _ count: Int) {
        for (index, app) in apps.enumerated() {
            let start = replies.startIndex + index * count
            let lengths = replies[start..<start + count].map { try? $0?.integer() }
            if lengths.allSatisfy({ $0 == nil }) { continue }
            depths.withLock { depths in
                var depth = depths[app] ?? Depth()
                let last = depth.lengths.isEmpty ? Array(repeating: 0, count: count) : depth.lengths
                depth.lengths = zip(lengths, last).map { $0 ?? $1 }
                depth.entries = depth.lengths.reduce(0, +)
                depth.publishes = 0
                depths[app] = depth
            }
        }
    }
}
