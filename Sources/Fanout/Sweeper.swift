import APNsClient
import APNsWire
import LiveActivity
import Logging
import Store

/// Takes stream entries to their end: begins pushes, sweeps shards, sends retries, applies prunes. One for a worker; all of
/// its state lies in Redis, in the leases it holds and in the gates.
struct Sweeper: Sendable {
    let store: Store
    let apps: [AppKey: WorkerApp]
    let options: WorkerOptions
    /// The worker's name with its random part: the owner of leases and the consumer of the streams.
    let owner: String
    let gates: AppGates
    let leases: LeaseKeeper
    let drain: Drain
    let meters: WorkerMeters
    let answers: AnswerLog
    let bell: AlarmBell
    let logger: Logger

    /// What becomes of the stream's entry.
    enum Disposition {
        /// Nothing of it is left to do, or what is left was put where it will be found.
        case acknowledge
        /// It stays pending, and is claimed by somebody after `claimAfter`.
        case leave
    }

    func handle(_ entry: WorkEntry) async -> Disposition {
        var log = logger
        log[metadataKey: "app"] = "\(entry.item.app)"
        log[metadataKey: "name"] = "\(entry.item.name)"
        log[metadataKey: "push"] = "\(entry.item.push)"
        do throws(StoreError) {
            if let rest = gates.rest(of: entry.item.app, now: Clocks.sinceBoot()) {
                try await store.queue.schedule(entry.item, due: store.time.now() + rest.milliseconds)
                return .acknowledge
            }
            switch entry.item.part {
            case .name, .reconcile: return try await name(entry, log)
            case .shard, .catchUp: return try await part(entry.item, isClaimed: entry.isClaimed, log)
            case .retries: return try await retries(entry, log)
            case .broadcast: return try await broadcasts(entry.item, log)
            case .late: return try await late(entry, log)
            }
        } catch {
            // Whatever was done is settled or will be done again from the checkpoint by whoever claims the entry.
            log.warning("work is put off: \(error)", metadata: ["part": "\(entry.item.part)"])
            return .leave
        }
    }

    private func name(_ entry: WorkEntry, _ log: Logger) async throws(StoreError) -> Disposition {
        let item = entry.item
        let asked = Clocks.sinceBoot()
        let (begun, push) = try await store.sweeps.begin(
            item.app, item.name, hint: item.push, owner: owner, lease: options.claimAfter,
            minInterval: options.minInterval, mostLapses: options.maxClaims, budget: options.budget)
        if entry.isClaimed, push != item.push || !begun.isClaimed { try await seeToLeftovers(item, log) }
        switch begun {
        case .idle:
            return .acknowledge
        case .held:
            // A fresh entry: the holder's own entry stands for the name. A claimed one may be the holder's.
            return entry.isClaimed ? .leave : .acknowledge
        case .paced(let left):
            // Dying before this leaves a claimed entry; a timer's entry that is lost is the reconciler's.
            try await store.queue.schedule(
                WorkItem(app: item.app, name: item.name, push: push, priority: item.priority, part: .name),
                due: store.time.now() + left.milliseconds)
            return .acknowledge
        case .planned:
            if item.part == .reconcile { try await putBackShards(item, push) }
            return .acknowledge
        case .catchUp:
            // Under an entry that names its push, for the same reason as below.
            try await store.queue.add([
                WorkItem(app: item.app, name: item.name, push: push, priority: item.priority, part: .catchUp)
            ])
            return .acknowledge
        case .plan(let record, let shards):
            // Dying after `add` leaves shards that are added once more: a shard that is done or held turns them away.
            try await store.queue.add(
                broadcast(item, record)
                    + (0..<shards).map { index in
                        WorkItem(
                            app: item.app, name: item.name, push: push, priority: record.priority,
                            part: .shard(index: index, count: shards))
                    })
            try await store.sweeps.markPlanned(item.app, item.name, push)
            return .acknowledge
        case .claimed(let claim) where push != item.push:
            // An entry has to name the push that is swept under it: whoever claims it after a death looks for what that push
            // left behind. Should the worker die before `add`, this entry comes back.
            _ = try await store.sweeps.renew(claim.lease, for: .zero)
            try await store.queue.add([
                WorkItem(app: item.app, name: item.name, push: push, priority: claim.record.priority, part: .name)
            ])
            return .acknowledge
        case .claimed(let claim):
            let broadcast = broadcast(item, claim.record)
            // Whoever dies before this has not settled the sweep, which is begun once more.
            if !broadcast.isEmpty { try await store.queue.add(broadcast) }
            return try await sweep(item, claim, asked: asked, isClaimed: entry.isClaimed, log)
        }
    }

    /// A claimed entry may belong to a push whose last page was settled by a worker that died before it was done with it.
    private func seeToLeftovers(_ item: WorkItem, _ log: Logger) async throws(StoreError) {
        _ = try await finish(item, try await store.sweeps.leftovers(item.app, item.name), isClaimed: true, log)
    }

    /// A shard, or the catch-up.
    private func part(_ item: WorkItem, isClaimed: Bool, _ log: Logger) async throws(StoreError) -> Disposition {
        let asked = Clocks.sinceBoot()
        switch try await store.sweeps.claim(
            item, owner: owner, lease: options.claimAfter, mostLapses: options.maxClaims)
        {
        case .gone: return .acknowledge
        // Whoever holds a catch-up does so under an entry of its own; a claimed one may be that.
        case .held: return item.part == .catchUp && !isClaimed ? .acknowledge : .leave
        case .done(let leftovers): return try await finish(item, leftovers, isClaimed: isClaimed, log)
        case .claimed(let claim): return try await sweep(item, claim, asked: asked, isClaimed: isClaimed, log)
        }
    }

    private func sweep(
        _ item: WorkItem, _ claim: Claim, asked: Int64, isClaimed: Bool, _ log: Logger
    ) async throws(StoreError) -> Disposition {
        guard let app = apps[item.app] else { return .leave }
        let held = HeldLease(askedAt: asked, duration: options.claimAfter)
        let sweep = Sweep(self, app, claim, held, log)
        leases.hold(claim.lease, held)
        let end = await sweep.run()
        leases.release(claim.lease)
        switch end {
        case .finished(let leftovers):
            return try await finish(item, leftovers, isClaimed: isClaimed, log)
        case .lost:
            return .leave
        case .interrupted(let rest):
            // In this order: should the worker die in between, the entry comes back by itself.
            if rest > .zero {
                try await store.queue.schedule(item, due: store.time.now() + rest.milliseconds)
            }
            _ = try await store.sweeps.renew(claim.lease, for: .zero)
            if rest == .zero { try await store.queue.add([item]) }
            return .acknowledge
        }
    }

    /// Sees to what is left behind a finished part; each step may be repeated. The catch-up is swept at once, in the place
    /// and under the entry of the part that was the last.
    func finish(
        _ item: WorkItem, _ leftovers: Leftovers, isClaimed: Bool, _ log: Logger
    ) async throws(StoreError) -> Disposition {
        if leftovers.owesRemovals { try await applyOwed(item.app, item.name) }
        if let first = leftovers.firstRetry { try await scheduleRetries(item.app, item.name, item.priority, first) }
        if leftovers.catchUpWaits, item.part != .catchUp {
            var tail = item
            tail.part = .catchUp
            return try await part(tail, isClaimed: isClaimed, log)
        }
        if leftovers.nameWaits {
            // Its own push, while other shards of it are under way, has entries already.
            guard let (push, priority) = try await store.queue.firstUnswept(item.app, item.name), push != item.push
            else { return .acknowledge }
            try await store.queue.add([
                WorkItem(app: item.app, name: item.name, push: push, priority: priority, part: .name)
            ])
        }
        return .acknowledge
    }

    func scheduleRetries(
        _ app: AppKey, _ name: ActivityName, _ priority: PushPriority, _ due: Int64
    ) async throws(StoreError) {
        try await store.queue.schedule(.retries(app, name, priority), due: due)
    }

    /// Shards of the active push that no stream, no timer and no worker holds any more: their entries were lost.
    private func putBackShards(_ item: WorkItem, _ push: PushID) async throws(StoreError) {
        let shards = try await store.sweeps.unfinishedShards(item.app, item.name, push)
            .map { WorkItem(app: item.app, name: item.name, push: push, priority: item.priority, part: $0) }
        try await store.queue.add(try await store.queue.withoutEntry(shards))
    }
}
