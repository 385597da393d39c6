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
    /// The labels `app` and, if the metric has it, `platform`.
    private struct Labels: Hashable {
        var app: AppKey
        var platform: Platform?

        init(_ app: AppKey) { self.app = app }
        init(_ key: AppPlatform) { (app, platform) = (key.app, key.platform) }

        var dimensions: [(String, String)] {
            [("app", app.rawValue)] + (platform.map { [("platform", $0.name)] } ?? [])
        }
    }

    private struct Timers: Sendable {
        private var byKey: [Key: Timer] = [:]
        private struct Key: Hashable {
            var subject: Labels
            var priority: PushPriority
            /// The label `size`. Nil for a timer without this label.
            var size: PushSize?
        }

        init(_ name: WorkerMetricName, _ subjects: [Labels], _ sizes: [PushSize?] = PushSize.allCases) {
            for subject in subjects {
                for priority in PushPriority.allCases {
                    for size in sizes {
                        let labels = subject.dimensions + [("priority", "\(priority.rawValue)")]
                        byKey[Key(subject: subject, priority: priority, size: size)] = Timer(
                            label: name.rawValue, dimensions: labels + (size.map { [("size", $0.rawValue)] } ?? []))
                    }
                }
            }
        }

        func record(_ subject: Labels, _ priority: PushPriority, _ size: PushSize?, milliseconds: Int64) {
            byKey[Key(subject: subject, priority: priority, size: size)]?.recordMilliseconds(max(0, milliseconds))
        }
    }

    private let outcomes: [Labels: [SettledField: Counter]]
    private let claims: [Labels: [ClaimOutcome: Counter]]
    private let first: Timers
    private let last: Timers
    private let arrivals: Timers
    private var attempts: [Labels: (retries: Counter, duplicates: Counter)] = [:]
    private var leasesLost: [AppKey: Counter] = [:]
    private var takenOver: [AppKey: Counter] = [:]
    private var quarantined: [AppPlatform: Counter] = [:]
    private var pages: [AppKey: Meter] = [:]
    private var circuits: [AppPlatform: Meter] = [:]
    /// The numbers of this worker for its heartbeat, because counters cannot be read.
    let tallies: WorkerTallies

    /// - Parameter platforms: of the worker's apps
    init(_ platforms: [AppPlatform]) {
        let apps = Array(Set(platforms.map(\.app)))
        let (ofApps, ofPlatforms) = (apps.map { Labels($0) }, platforms.map { Labels($0) })
        outcomes = Self.byOutcome(.tokens, ofPlatforms)
        claims = Self.byOutcome(.claims, ofApps)
        (first, last) = (Timers(.firstToken, ofPlatforms), Timers(.lastToken, ofApps))
        arrivals = Timers(.arrival, ofPlatforms, [nil])
        tallies = WorkerTallies(apps)
        func counter(_ name: WorkerMetricName, _ labels: Labels) -> Counter {
            Counter(label: name.rawValue, dimensions: labels.dimensions)
        }
        for app in apps {
            let labels = Labels(app)
            leasesLost[app] = counter(.leasesLost, labels)
            takenOver[app] = counter(.takenOver, labels)
            pages[app] = Meter(label: WorkerMetricName.pagesInFlight.rawValue, dimensions: labels.dimensions)
        }
        for key in platforms {
            let labels = Labels(key)
            attempts[labels] = (counter(.retries, labels), counter(.duplicatesPossible, labels))
            quarantined[key] = counter(.quarantined, labels)
            circuits[key] = Meter(label: WorkerMetricName.circuitOpen.rawValue, dimensions: labels.dimensions)
        }
    }

    private static func byOutcome<Outcome: CaseIterable & RawRepresentable & Hashable>(
        _ name: WorkerMetricName, _ subjects: [Labels]
    ) -> [Labels: [Outcome: Counter]] where Outcome.RawValue == String {
        Dictionary(
            uniqueKeysWithValues: subjects.map { subject in
                let counters = Outcome.allCases.map { ($0, counter(name, subject, $0.rawValue)) }
                return (subject, Dictionary(uniqueKeysWithValues: counters))
            })
    }

    private static func counter(_ name: WorkerMetricName, _ subject: Labels, _ outcome: String) -> Counter {
        Counter(label: name.rawValue, dimensions: subject.dimensions + [("outcome", outcome)])
    }

    /// Counts tokens by their outcomes, and tokens that are tried again.
    func count(_ app: AppKey, _ work: [Platform: SettledWork]) {
        for (platform, done) in work {
            let labels = Labels(AppPlatform(app, platform))
            for field in SettledField.allCases where done.outcomes[field] > 0 {
                // An app may have followers on a platform to which this worker sends nothing.
                (outcomes[labels]?[field] ?? Self.counter(.tokens, labels, field.rawValue))
                    .increment(by: done.outcomes[field])
            }
            if done.retries > 0 { attempts[labels]?.retries.increment(by: done.retries) }
            if done.duplicatesPossible > 0 { attempts[labels]?.duplicates.increment(by: done.duplicatesPossible) }
            tallies.count(app, done.outcomes)
        }
    }

    /// Counts answers other than 200, and requests without an answer, by reason. An unknown reason counts as `other`,
    /// so that a platform cannot make new series.
    func rejected(_ key: AppPlatform, _ errors: [String: Int], _ reasons: PlatformReasons?) {
        guard !errors.isEmpty else { return }
        let known = reasons?.known ?? []
        for (reason, number) in errors where number > 0 {
            let label = known.contains(reason) ? reason : "other"
            Counter(
                label: WorkerMetricName.rejections.rawValue,
                dimensions: Labels(key).dimensions + [("reason", label)]
            ).increment(by: number)
        }
        tallies.count(key.app, errors: errors, known: known)
    }

    func pageBegan(_ app: AppKey) {
        pages[app]?.increment()
        tallies.pages(app, 1)
    }

    func pageEnded(_ app: AppKey) {
        pages[app]?.decrement()
        tallies.pages(app, -1)
    }

    func quarantined(_ key: AppPlatform, tokens: Int) { quarantined[key]?.increment(by: tokens) }
    func circuit(_ key: AppPlatform, isOpen: Bool) { circuits[key]?.set(isOpen ? 1 : 0) }
    func claimed(_ app: AppKey, _ outcome: ClaimOutcome) { claims[Labels(app)]?[outcome]?.increment() }
    func lostLease(_ app: AppKey) { leasesLost[app]?.increment() }
    func tookOver(_ app: AppKey, entries: Int) { takenOver[app]?.increment(by: entries) }

    /// The platform took tokens of a page, so long after the push was accepted.
    /// - Parameter first: the push's size, if these are the first tokens that it reached
    func arrived(_ key: AppPlatform, _ record: PushRecord, first size: PushSize?, now: Int64) {
        let time = now - record.createdAt
        arrivals.record(Labels(key), record.priority, nil, milliseconds: time)
        if let size { first.record(Labels(key), record.priority, size, milliseconds: time) }
    }

    /// A push is final. Superseded, cancelled and failed ones have no last token.
    func ended(_ app: AppKey, _ ledger: Ledger, now: Int64) {
        ended(app, ledger.state)
        guard ledger.state == .done || ledger.state == .expired else { return }
        let time = (ledger.finishedAt ?? now) - ledger.createdAt
        last.record(Labels(app), ledger.priority, PushSize(targets: ledger.targets), milliseconds: time)
    }

    func ended(_ app: AppKey, _ state: PushState) {
        Counter(
            label: WorkerMetricName.pushesEnded.rawValue,
            dimensions: [("app", app.rawValue), ("state", state.rawValue)]
        ).increment()
    }
}
