import Delivery
import LiveActivity
import Metrics
import Store

/// The names of the metrics that this target defines. Each worker counts its own work, so take the sum over all
/// workers.
public enum WorkerMetricName: String, CaseIterable, Sendable {
    case tokens = "lamplighter_tokens_total"
    case retries = "lamplighter_retries_total"
    case duplicatesPossible = "lamplighter_duplicates_possible_total"
    case rejections = "lamplighter_rejections_total"
    case quarantined = "lamplighter_quarantined_tokens_total"
    case pagesInFlight = "lamplighter_pages_in_flight"
    case circuitOpen = "lamplighter_circuit_open"
    case firstToken = "lamplighter_push_first_token_seconds"
    case lastToken = "lamplighter_push_last_token_seconds"
    case pushesEnded = "lamplighter_pushes_ended_total"
    case arrival = "lamplighter_arrival_seconds"
    case claims = "lamplighter_lease_claims_total"
    case leasesLost = "lamplighter_leases_lost_total"
    case takenOver = "lamplighter_entries_taken_over_total"

    /// Timers that may take as long as a large push, so they need larger bounds.
    public static let longTimers = [Self.firstToken, .lastToken, .arrival].map(\.rawValue)
}

/// How a worker got a lease, or did not.
enum ClaimOutcome: String, CaseIterable {
    case claimed
    /// The last owner of the lease crashed or stalled.
    case lapsed
    /// Another worker has the lease.
    case held
    /// Too many owners crashed or stalled: the task is given up.
    case poison
}

/// Classes of pushes by their number of shards: one, several, and the most.
enum PushSize: String, CaseIterable {
    case small, medium, large

    /// The size of a push that has ended, by its targets: as many as so many shards would have.
    init(targets: Int) {
        self = targets < 2_900 ? .small : targets < 92_000 ? .medium : .large
    }

    /// The size of a push, by the part of it that is done. Nil if the part is no shard.
    init?(_ part: WorkItem.Part) {
        guard case .shard(_, let count) = part else { return nil }
        self = count <= 1 ? .small : count < SweepStore.mostShards ? .medium : .large
    }
}

/// The worker's metrics: one set of handles for each app, made once. They are called for a page or a push, never for
/// each token, because each call takes a lock.
struct WorkerMetrics: Sendable {
    private struct Timers: Sendable {
        private var byKey: [Key: Timer] = [:]
        private struct Key: Hashable {
            var app: AppKey
            var priority: PushPriority
            /// The label `size`. Nil for a timer without this label.
            var size: PushSize?
        }

        init(_ name: WorkerMetricName, _ apps: [AppKey], _ sizes: [PushSize?] = PushSize.allCases) {
            for app in apps {
                for priority in PushPriority.allCases {
                    for size in sizes {
                        let labels = [("app", app.rawValue), ("priority", "\(priority.rawValue)")]
                        byKey[Key(app: app, priority: priority, size: size)] = Timer(
                            label: name.rawValue, dimensions: labels + (size.map { [("size", $0.rawValue)] } ?? []))
                    }
                }
            }
        }

        func record(_ app: AppKey, _ priority: PushPriority, _ size: PushSize?, milliseconds: Int64) {
            byKey[Key(app: app, priority: priority, size: size)]?.recordMilliseconds(max(0, milliseconds))
        }
    }

    private let outcomes: [AppKey: [SettledField: Counter]]
    private let claims: [AppKey: [ClaimOutcome: Counter]]
    private let first: Timers
    private let last: Timers
    private let arrivals: Timers
    private var attempts: [AppKey: (retries: Counter, duplicates: Counter)] = [:]
    private var leasesLost: [AppKey: Counter] = [:]
    private var takenOver: [AppKey: Counter] = [:]
    private var quarantined: [AppKey: Counter] = [:]
    private var pages: [AppKey: Meter] = [:]
    private var circuits: [AppKey: Meter] = [:]
    /// The numbers of this worker for its heartbeat, because counters cannot be read.
    let tallies: WorkerTallies

    init(_ apps: [AppKey]) {
        outcomes = Self.byOutcome(.tokens, apps)
        claims = Self.byOutcome(.claims, apps)
        (first, last, arrivals) = (Timers(.firstToken, apps), Timers(.lastToken, apps), Timers(.arrival, apps, [nil]))
        tallies = WorkerTallies(apps)
        for app in apps {
            let labels = [("app", app.rawValue)]
            func counter(_ name: WorkerMetricName) -> Counter { Counter(label: name.rawValue, dimensions: labels) }
            attempts[app] = (counter(.retries), counter(.duplicatesPossible))
            leasesLost[app] = counter(.leasesLost)
            takenOver[app] = counter(.takenOver)
            quarantined[app] = counter(.quarantined)
            pages[app] = Meter(label: WorkerMetricName.pagesInFlight.rawValue, dimensions: labels)
            circuits[app] = Meter(label: WorkerMetricName.circuitOpen.rawValue, dimensions: labels)
        }
    }

    private static func byOutcome<Outcome: CaseIterable & RawRepresentable & Hashable>(
        _ name: WorkerMetricName, _ apps: [AppKey]
    ) -> [AppKey: [Outcome: Counter]] where Outcome.RawValue == String {
        Dictionary(
            uniqueKeysWithValues: apps.map { app in
                let counters = Outcome.allCases.map { outcome in
                    let dimensions = [("app", app.rawValue), ("outcome", outcome.rawValue)]
                    return (outcome, Counter(label: name.rawValue, dimensions: dimensions))
                }
                return (app, Dictionary(uniqueKeysWithValues: counters))
            })
    }

    /// Counts tokens by their outcomes, and tokens that are tried again.
    func count(_ app: AppKey, _ counted: Outcomes, retries: Int = 0, duplicatesPossible: Int = 0) {
        for field in SettledField.allCases where counted[field] > 0 {
            outcomes[app]?[field]?.increment(by: counted[field])
        }
        if retries > 0 { attempts[app]?.retries.increment(by: retries) }
        if duplicatesPossible > 0 { attempts[app]?.duplicates.increment(by: duplicatesPossible) }
        tallies.count(app, counted)
    }

    /// Counts answers other than 200, and requests without an answer, by reason. An unknown reason counts as `other`,
    /// so that a platform cannot make new series.
    func rejected(_ app: AppKey, _ errors: [String: Int], _ reasons: PlatformReasons?) {
        guard !errors.isEmpty else { return }
        let known = reasons?.known ?? []
        for (reason, number) in errors where number > 0 {
            let label = known.contains(reason) ? reason : "other"
            Counter(
                label: WorkerMetricName.rejections.rawValue,
                dimensions: [("app", app.rawValue), ("reason", label)]
            ).increment(by: number)
        }
        tallies.count(app, errors: errors, known: known)
    }

    func pageBegan(_ app: AppKey) {
        pages[app]?.increment()
        tallies.pages(app, 1)
    }

    func pageEnded(_ app: AppKey) {
        pages[app]?.decrement()
        tallies.pages(app, -1)
    }

    func quarantined(_ app: AppKey, tokens: Int) { quarantined[app]?.increment(by: tokens) }
    func circuit(_ app: AppKey, isOpen: Bool) { circuits[app]?.set(isOpen ? 1 : 0) }
    func claimed(_ app: AppKey, _ outcome: ClaimOutcome) { claims[app]?[outcome]?.increment() }
    func lostLease(_ app: AppKey) { leasesLost[app]?.increment() }
    func tookOver(_ app: AppKey, entries: Int) { takenOver[app]?.increment(by: entries) }

    /// APNs took tokens of a page, so long after the push was accepted.
    /// - Parameter first: the push's size, if these are the first tokens that it reached
    func arrived(_ app: AppKey, _ record: PushRecord, first size: PushSize?, now: Int64) {
        let time = now - record.createdAt
        arrivals.record(app, record.priority, nil, milliseconds: time)
        if let size { first.record(app, record.priority, size, milliseconds: time) }
    }

    /// A push is final. Superseded, cancelled and failed ones have no last token.
    func ended(_ app: AppKey, _ ledger: Ledger, now: Int64) {
        ended(app, ledger.state)
        guard ledger.state == .done || ledger.state == .expired else { return }
        let time = (ledger.finishedAt ?? now) - ledger.createdAt
        last.record(app, ledger.priority, PushSize(targets: ledger.targets), milliseconds: time)
    }

    func ended(_ app: AppKey, _ state: PushState) {
        Counter(
            label: WorkerMetricName.pushesEnded.rawValue,
            dimensions: [("app", app.rawValue), ("state", state.rawValue)]
        ).increment()
    }
}
