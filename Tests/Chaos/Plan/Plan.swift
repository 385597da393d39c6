/// The plan of a run. The seed fixes it before the run begins. Times are milliseconds from the start.
struct Plan: Sendable {
    var seed: UInt64
    var milliseconds: Int
    var redis: RedisServers.Kind
    var actions: Set<Action>
    /// For a cluster: while one node is down, the others serve nothing. If false, they serve their own slots.
    var needsEveryNode: Bool
    var channels: Int
    var names: [NamePlan]
    var disturbances: [Planned<Disturbance>]
    var apnsFaults: [Planned<APNsFault>]
    /// Faults of broadcasts and of channel management, beside the others.
    var broadcastFaults: [Planned<APNsFault>] = []
    /// Nil: no phone is on Android.
    var android: AndroidPlan?
    /// Phones that APNs does not answer for.
    var silences: [Planned<Silence>] = []
    /// Ms after its 202 within which a healthy phone has a state. Faults of several seconds follow each other, retries
    /// wait, and the machine may be busy; what stands still stays so for longer.
    var late = Self.usuallyLate
    static let usuallyLate: Int64 = 120_000
    /// Tokens a second; nil: no cap.
    var cap: Int?
    /// The time at which each cohort of dying tokens dies.
    var deaths: [Int]
    /// Whether the app has outgoing events. Their pushes leave the usual case of a script, so every second seed has
    /// none.
    var hasEvents: Bool { seed.isMultiple(of: 2) }
    /// Whether clocks of Redis step in this run. Then all phones have slow clocks and no card is started, so most seeds
    /// go without.
    var stepsRedisClocks: Bool { Self.stepsRedisClocks(seed, actions) }
    static func stepsRedisClocks(_ seed: UInt64, _ actions: Set<Action>) -> Bool {
        actions.contains(.redisClocks) && seed % 4 == 3
    }
}

struct Planned<What: Sendable>: Sendable {
    var at: Int
    /// Decides what is only chosen during the run. So the state of a name is the same in every run of a seed.
    var seed: UInt64
    var what: What
}

extension Plan {
    private var actionsLine: String { "actions: " + Action.text(actions) }

    /// The plan as text: one line for each event, in order.
    var lines: [String] {
        var lines: [(at: Int, text: String)] = [(0, actionsLine)]
        if redis.isCluster {
            lines.append((0, "a cluster " + (needsEveryNode ? "that needs every node" : "whose nodes serve alone")))
        }
        if let cap { lines.append((0, "a cap of \(cap) tokens a second")) }
        if stepsRedisClocks { lines.append((0, "clocks of Redis that step, and slow clocks of all phones")) }
        if hasEvents { lines.append((0, "outgoing events")) }
        for (cohort, at) in deaths.enumerated() { lines.append((at, "tokens of cohort \(cohort) die")) }
        for planned in disturbances { lines.append((planned.at, "\(planned.what)")) }
        for planned in apnsFaults {
            lines.append((planned.at, "APNs for \(planned.what.milliseconds) ms: \(planned.what.title)"))
        }
        for planned in broadcastFaults {
            lines.append((planned.at, "broadcasts for \(planned.what.milliseconds) ms: \(planned.what.title)"))
        }
        for planned in silences { lines.append((planned.at, "\(planned.what)")) }
        for name in names {
            lines.append(
                (
                    0,
                    name.isStarted
                        ? "\(name.name): \(name.pool) start tokens"
                        : "\(name.name): \(name.initial) of \(name.pool) channels from \(name.first)"
                            + (name.hasBroadcastChannel ? ", and a broadcast channel" : "")
                ))
            for stage in name.stages {
                for planned in stage.publishes { lines.append((planned.at, "\(name.name): \(planned.what)")) }
                for planned in stage.registrations { lines.append((planned.at, "\(name.name): \(planned.what)")) }
                if let end = stage.end { lines.append((end.at, "\(name.name): \(end.what)")) }
            }
        }
        lines += android?.lines ?? []
        return lines.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            .map { Clock.stamp($0.element.at) + "  " + $0.element.text }
    }
}
