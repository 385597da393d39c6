import Delivery
import LiveActivity
import Store

/// Writes the worker's heartbeat. Only its task uses it.
struct HeartbeatTimer {
    private let context: WorkerContext
    /// The start by the boot clock, because Redis's clock may be set while the worker runs.
    private let started = bootClock()
    private var last: (at: Int64, settled: [AppKey: Int])?
    /// Beats from one renewal of the heartbeats' life, two hours, to the next: five minutes.
    private static let renewal = 150
    private var beats = 0

    init(_ context: WorkerContext) {
        self.context = context
    }

    mutating func beat() async throws(StoreError) {
        let now = context.store.time.now()
        let tallies = context.metrics.tallies.values
        let loads = context.apps.map { key, app in
            let tally = tallies[key] ?? WorkerTallies.Tally()
            let lanes = app.senders.flatMap(\.lanes)
            var load = Heartbeat.Load()
            load.lanes = lanes.reduce(0) { $0 + $1.total }
            load.connected = lanes.reduce(0) { $0 + $1.connected }
            load.inFlight = lanes.reduce(0) { $0 + $1.inFlight }
            load.pages = tally.pages
            if let last, now > last.at {
                load.rate = (tally.outcomes.settled - last.settled[key, default: 0]) * 1_000 / Int(now - last.at)
            }
            let counted = SettledField.allCases.filter { tally.outcomes[$0] > 0 }
            load.outcomes = Dictionary(uniqueKeysWithValues: counted.map { ($0.rawValue, tally.outcomes[$0]) })
            load.errors = tally.errors
            return (key, load)
        }
        last = (now, tallies.mapValues(\.outcomes.settled))
        try await context.store.heartbeats.write(
            Heartbeat(
                worker: context.owner, at: now, startedAt: now - (bootClock() - started),
                loads: Dictionary(uniqueKeysWithValues: loads)),
            renews: beats.isMultiple(of: Self.renewal))
        beats += 1
    }
}
