public import LiveActivity

/// A worker as an operator sees it.
public struct WorkerSight: Sendable, Hashable {
    /// With the random part.
    public var name: String
    /// Milliseconds since its last heartbeat, or since it last asked for work.
    public var idle: Int
    /// Entries that it has read and not acknowledged.
    public var pending: Int

    /// Whether it was seen within 30 s.
    public var isAtWork: Bool { idle < 30_000 }
}

extension Store {
    /// The workers of these apps by name, also workers that were killed less than an hour ago. A worker that is busy
    /// with one large push asks for no work for long, so heartbeats count too.
    public func workers(_ apps: [AppKey]) async throws(StoreError) -> [WorkerSight] {
        var found: [String: WorkerSight] = [:]
        for worker in try await queue.workers(apps) {
            found[worker.name] = WorkerSight(name: worker.name, idle: worker.idle, pending: worker.pending)
        }
        let now = time.now()
        for heartbeat in try await heartbeats.list(now: now) where apps.contains(where: { heartbeat.loads[$0] != nil })
        {
            let idle = Int(max(0, now - heartbeat.at))
            let known = found[heartbeat.worker]
            found[heartbeat.worker] = WorkerSight(
                name: heartbeat.worker, idle: min(idle, known?.idle ?? idle), pending: known?.pending ?? 0)
        }
        return found.values.sorted { $0.name < $1.name }
    }
}
