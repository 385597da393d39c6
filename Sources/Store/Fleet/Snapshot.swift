public import LiveActivity

/// The deployment at one moment, as operators see it: in `/metrics`, `/readyz`, `lamplighter status` and the console.
/// This is the one list of the questions. A caller names the parts that it shows.
public struct Snapshot: Sendable {
    public enum Part: Sendable, CaseIterable {
        case depths, ages, deadLetters, quarantine, broadcasts, counts
        case alarms, pauses, heartbeats, workers, load, pushes
    }

    public struct App: Sendable {
        public var key: AppKey
        public var depth: QueueDepth
        public var age: QueueAge
        /// Pushes with dead letters.
        public var deadLetters = 0
        public var quarantinedNames = 0
        public var broadcasts: [BroadcastEvent: Int] = [:]
        /// The numbers of features, by the names of their metrics. Absent: the app has none.
        public var counts: [String: Double] = [:]

        /// A feature's number. 0: there is none, or Redis did not answer.
        public subscript(count count: FleetCount) -> Double { counts[count.metric] ?? 0 }

        public init(_ key: AppKey) {
            self.key = key
            depth = QueueDepth(app: key)
            age = QueueAge(app: key)
        }
    }

    /// The most pushes that are shown.
    public static let mostPushes = 50

    /// Epoch ms of Redis's clock.
    public var now: Int64
    public var apps: [App]
    public var alarms: [Alarm] = []
    public var pauses: [Pause] = []
    public var heartbeats: [Heartbeat] = []
    /// The workers of these apps.
    public var workers: [WorkerSight] = []
    public var load = RedisLoad()
    public var pushes: [PushUnderWay] = []
    /// How long the first question took.
    public private(set) var answered: Duration = .zero
    /// The parts that Redis answered. Others are empty here.
    public private(set) var parts: Set<Part> = []

    public init(now: Int64, apps: [AppKey]) {
        self.now = now
        self.apps = apps.map(App.init)
    }

    /// The workers that live.
    public var live: [Heartbeat] { heartbeats.filter { $0.isFresh(now: now) } }

    /// The sum over the workers that live, of one app or of all.
    public func total(_ field: KeyPath<Heartbeat.Load, Int>, of app: AppKey? = nil) -> Int {
        live.reduce(0) { sum, heartbeat in
            sum + heartbeat.loads.reduce(0) { app == nil || $1.key == app ? $0 + $1.value[keyPath: field] : $0 }
        }
    }

    /// Answers other than 200 since the start of the workers that live, by reason.
    public var errors: [String: Int] {
        live.flatMap { $0.loads.values.map(\.errors) }.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    }

    fileprivate mutating func read(_ part: Part, from store: Store) async throws(StoreError) {
        let keys = apps.map(\.key)
        let started = ContinuousClock.now
        switch part {
        case .depths:
            for (index, depth) in try await store.queue.depth(keys).enumerated() { apps[index].depth = depth }
        case .ages:
            for (index, age) in try await store.queue.age(keys, now: now).enumerated() { apps[index].age = age }
        case .deadLetters:
            for index in keys.indices { apps[index].deadLetters = try await store.deadLetters.count(keys[index]) }
        case .quarantine:
            for index in keys.indices { apps[index].quarantinedNames = try await store.quarantine.count(keys[index]) }
        case .broadcasts:
            for index in keys.indices { apps[index].broadcasts = try await store.broadcasts.counts(keys[index]) }
        case .counts:
            for count in FleetCount.all {
                for (index, number) in try await count.read(store, keys, now).enumerated() {
                    apps[index].counts[count.metric] = number
                }
            }
        case .alarms: alarms = try await store.alarms.list(keys)
        case .pauses: pauses = try await store.pauses.list(keys)
        case .heartbeats: heartbeats = try await store.heartbeats.list(now: now)
        case .workers: workers = try await store.workers(keys)
        case .load: load = try await store.redisLoad()
        case .pushes: pushes = try await store.queue.underWay(keys, limit: Self.mostPushes)
        }
        if parts.isEmpty { answered = started.duration(to: .now) }
        parts.insert(part)
    }
}

extension Store {
    /// Reads these parts of the state of the deployment.
    /// - Throws: the first error; a half of the state would look like a whole
    public func snapshot(_ apps: [AppKey], _ parts: [Snapshot.Part]) async throws(StoreError) -> Snapshot {
        var snapshot = Snapshot(now: time.now(), apps: apps)
        for part in parts { try await snapshot.read(part, from: self) }
        return snapshot
    }

    /// Reads these parts, as far as Redis answers them, for callers that show something without Redis too. If the first
    /// part is not answered, no other is asked for: each would wait in turn.
    public func partialSnapshot(_ apps: [AppKey], _ parts: [Snapshot.Part]) async -> Snapshot {
        var snapshot = Snapshot(now: time.now(), apps: apps)
        for part in parts {
            try? await snapshot.read(part, from: self)
            if snapshot.parts.isEmpty { break }
        }
        return snapshot
    }
}
