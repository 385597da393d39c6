import APNsWire
import Delivery
import LiveActivity
import Logging
import Store

extension WorkerContext {
    /// The longest time for which APNs keeps a broadcast.
    private static let longestStorage: Duration = .seconds(8 * 3_600)

    /// The entry that wakes a worker for a push that has joined its name's broadcast queue; none for another push.
    func broadcastEntries(_ item: WorkItem, _ record: PushRecord) -> [WorkItem] {
        record.awaitsBroadcast ? [.broadcast(item.app, item.name, record.priority)] : []
    }

    /// Sends a name's broadcasts, one after the other, until none is due.
    func sendBroadcasts(_ item: WorkItem, _ log: Logger) async throws(StoreError) -> Disposition {
        var listed: [PushID] = []
        while !drain.isOn {
            let isPaused = pauses.isPaused(item.app, item.name)
            if isPaused, try await !store.broadcasts.isOverdue(item.app, item.name, now: store.time.now()) {
                try await store.queue.schedule(item, due: store.time.now() + KnownPauses.look.milliseconds)
                return .acknowledge
            }
            let asked = now
            let take = try await store.broadcasts.take(
                item.app, item.name, owner: owner, lease: options.claimAfter, listed: listed)
            listed = []
            if let count = take.counted[.expired] { await reportExpired(item.app, broadcastsOf: item.name, count, log) }
            switch take.turn {
            case .idle: return .acknowledge
            case .held(let left):
                // Another worker sends or died over it, perhaps before this push joined the queue. So look again.
                try await store.queue.schedule(item, due: store.time.now() + min(left.milliseconds, 500))
                return .acknowledge
            case .wait(let left):
                try await store.queue.schedule(item, due: store.time.now() + left.milliseconds)
                return .acknowledge
            case .expires(let pushes):
                try await store.deadLetters.enlist(item.app, item.name, pushes)
                listed = pushes
            case .send(let task):
                let held = leases.hold(task.lease, askedAt: asked, for: options.claimAfter)
                let isSettled = await sendBroadcast(task, held, log)
                leases.release(held)
                guard isSettled else { return .leave }
            }
        }
        try await store.queue.add([item])
        return .acknowledge
    }

    /// Sends one broadcast and settles it.
    /// - Returns: false if its outcome could not be written down
    private func sendBroadcast(_ task: BroadcastTask, _ held: HeldLease, _ log: Logger) async -> Bool {
        let (app, name) = (task.lease.app, task.lease.name)
        let (settlement, isChannelGone) = await attempt(task, held, log)
        let settled = await held.repeatWhileLive(log) { () async throws(StoreError) in
            let now = store.time.now()
            if isChannelGone { _ = try await store.broadcasts.gone(app, name, task.channel, now: now) }
            // Retire the channel before the push is settled. If this worker dies in between, both are done once more.
            if task.record.event == .end, settlement.isFinal {
                try await store.broadcasts.retire(app, name, at: now + options.broadcastChannelLife.milliseconds)
            }
            if settlement.outcome == .expired { try await store.deadLetters.enlist(app, name, [task.record.id]) }
            return try await store.broadcasts.settle(task, settlement)
        }
        guard settled == true else { return false }
        if settlement.outcome == .expired { await reportExpired(app, task.record.id, nil, log) }
        return true
    }

    private func attempt(
        _ task: BroadcastTask, _ held: HeldLease, _ log: Logger
    ) async -> (settlement: BroadcastSettlement, isChannelGone: Bool) {
        let record = task.record
        guard store.time.now() < record.deadline else { return (BroadcastSettlement(.expired), false) }
        if pauses.isPaused(task.lease.app, task.lease.name) {
            // A newer broadcast took the place of the expired one.
            return (BroadcastSettlement(.again(after: KnownPauses.look), reason: "Paused"), false)
        }
        guard let app = apps[task.lease.app], let service = app.broadcasts else {
            // Another worker may be configured for broadcasts.
            return (BroadcastSettlement(.again(after: .seconds(5)), reason: "NoBroadcastService"), false)
        }
        let outcome = await service.send(
            PreparedPush.broadcast(
                bundleID: app.bundleID, channel: task.channel, storage: task.storage,
                priority: record.isDemoted ? .low : record.priority,
                expiration: record.expiry ?? Int((record.createdAt + Self.longestStorage.milliseconds) / 1_000),
                requestID: record.id, payload: record.payload), held)
        let report = BroadcastReport(
            outcome,
            Attempt(
                made: task.attempts, now: store.time.now(), deadline: record.deadline, triesOnce: record.expiry == 0,
                backoff: options.retries, fraction: .random(in: 0..<1)))
        if let alarm = report.alarm {
            log.error("a broadcast is refused", metadata: ["reason": "\(alarm)"])
            try? await store.alarms.raise(task.lease.app, .broadcast, alarm)
        }
        return (report.settlement, report.isChannelGone)
    }
}

extension BroadcastSettlement { var isFinal: Bool { if case .again = outcome { false } else { true } } }

/// Decides what the answer to a broadcast means, without clock or I/O.
struct BroadcastReport: Hashable {
    /// The pause after an answer about our credentials, because APNs does not want to be asked often.
    static let pauseAfterRefusal: Duration = .seconds(15)

    var settlement: BroadcastSettlement
    /// APNs does not know the channel. The worker makes another one, and the broadcast goes to that.
    var isChannelGone = false
    /// The reason of an alarm for the operator.
    var alarm: String?

    init(_ outcome: PushOutcome, _ attempt: Attempt) {
        func again(_ status: Int?, _ reason: String, retryAfter: Int? = nil, mayRepeat: Bool = false)
            -> BroadcastSettlement
        {
            let outcome: BroadcastSettlement.Outcome =
                switch attempt.again(after: attempt.pause(retryAfter), retryAfter: retryAfter) {
                case .retry(let due, _): .again(after: .milliseconds(due - attempt.now))
                case .expired: .expired
                case .failed, .dead: .failed
                }
            return BroadcastSettlement(outcome, status: status, reason: reason, mayRepeat: mayRepeat)
        }
        switch outcome {
        case .accepted: settlement = BroadcastSettlement(.delivered, status: 200)
        case .unanswered(let none): settlement = again(nil, none.cause.rawValue, mayRepeat: none.mayHaveBeenDelivered)
        case .rejected(let rejection):
            let (status, reason) = (rejection.status, rejection.reason)
            switch rejection.verdict {
            case .retry, .retryOnFreshConnection, .renewCredential, .useEarlierCredential, .pauseApp:
                settlement = again(status, reason, retryAfter: rejection.retryAfter)
            case .recreateTarget:
                isChannelGone = true
                settlement = again(status, reason)
            case .haltApp:
                alarm = reason
                settlement = BroadcastSettlement(.again(after: Self.pauseAfterRefusal), status: status, reason: reason)
            case .stopPush, .failToken, .pruneToken, .pruneIfOlder:
                alarm = reason
                settlement = BroadcastSettlement(.failed, status: status, reason: reason)
            }
        }
    }
}
