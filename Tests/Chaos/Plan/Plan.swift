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
    /// The time at which each cohort of dying tokens dies.
    var deaths: [Int]
}

struct Planned<What: Sendable>: Sendable {
    var at: Int
    /// Decides what is only chosen during the run. So the state of a name is the same in every run of a seed.
    var seed: UInt64
    var what: What
}

/// One activity. The channels `first ..< first + pool` of the run can follow it, and `initial` of them
/// do so from the start.
struct NamePlan: Sendable {
    var index: Int
    var initial: Int
    var pool: Int
    var first: Int
    var stages: [Stage]
    /// Whether pushes create its cards. No channel follows before a start came.
    var isStarted = false
    /// Whether the name owns a broadcast channel, which is made at the beginning of the run.
    var hasBroadcastChannel = false
    var hasOddName = false

    var name: String {
        guard hasOddName else { return "chaos-\(index)" }
        // The first two differ only in their bytes. The others hold colons and braces, because these separate
        // the parts of Redis keys.
        switch index {
        case 1: return "chaos-caf\u{e9}"
        case 2: return "chaos-cafe\u{301}"
        default:
            let (before, after) = Self.odd[index % Self.odd.count]
            return before + "chaos-\(index)" + after
        }
    }
    private static let odd = [
        ("\u{301}", ""), ("", ""), ("{", "}%7B"), ("\u{200d}", ":\u{fe0f}"), ("}{%", " {q}"), ("\u{1f3fd}", " \u{e33}"),
    ]
    private static let unreserved = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)

    /// The path of the calls for this name.
    var path: String {
        "/api/activities/"
            + name.utf8.map { byte in
                Self.unreserved.contains(byte)
                    ? String(UnicodeScalar(byte))
                    : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }.joined()
    }

    /// The number of a push identifies its name where the record does not: start tokens get pushes of several names,
    /// and the simulator does not know whose a broadcast channel is.
    var numbersFrom: Int { isStarted || hasBroadcastChannel ? index * 1_000_000 : 0 }

    static func index(ofNumber number: Int) -> Int { number / 1_000_000 }
}

/// Publishes and registrations of a stage run side by side, and its end waits for both.
struct Stage: Sendable {
    var publishes: [Planned<Publish>] = []
    var registrations: [Planned<Registrations>] = []
    var end: Planned<End>?
}

struct Publish: Sendable {
    var audience: Audience
    var priority = 10
    var hasAlert = false
    var mayBeReplaced = true
    /// Whether it is sent once more after its 202, with the same key.
    var isRepeated = false
    var isStart = false
    var variant = PublishVariant.plain
}

enum Audience: Sendable, Hashable {
    case all, tagA, tagB, both, either, notA
    /// One channel, by its place in the name's pool.
    case channel(Int)
}

enum Registrations: Sendable {
    case track(Int), rotate(Int), untrack(Int)
    /// Repeats old registrations of tokens that were replaced or removed meanwhile.
    case late(Int)
}

/// An `end` for all or for channels with a tag, and which channels follow afterwards.
struct End: Sendable {
    var audience: Audience
    /// Whether an update for the ended name is tried, which must be refused.
    var isTested: Bool
    /// Other channels begin to follow at once, or the same ones begin when the end has arrived.
    var reopens: Reopening
    /// For a name whose cards pushes create: whether to wait until its starts are over, so that the end overtakes none.
    var waits = false
    var isStateless = false
    /// Whether an update for all is accepted right before it.
    var followsUpdate = false
    /// Whether a second end follows at once. It must be accepted while tokens follow.
    var isRepeated = false
    /// How many channels register while it is accepted.
    var crossing = 0
    /// How many channels register their next card this many milliseconds after its 202.
    var newCards = 0
    var newCardsAfter = 0
    /// An update waits for a time this many milliseconds after the end is sent, or before it if negative.
    var scheduleDue: Int?
    /// The milliseconds after its 202 at which it is cancelled. The name then goes on, unless the end was over before.
    var cancelledAfter: Int?

    enum Reopening: Sendable { case never, others, same }
}

enum Role: Sendable, Hashable, CustomStringConvertible {
    case redis, simulator
    /// A node of a cluster, which takes the place of the one Redis.
    case node(Int)
    case gateway(Int), worker(Int)

    var description: String {
        switch self {
        case .redis: "redis"
        case .simulator: "simulator"
        case .node(let number): "node-\(number)"
        case .gateway(let number): "gateway-\(number)"
        case .worker(let number): "worker-\(number)"
        }
    }
}

enum Disturbance: Sendable {
    /// kill -9, and a restart after this many milliseconds.
    case kill(Role, down: Int)
    /// SIGSTOP, and SIGCONT after this many milliseconds.
    case stop(Role, for: Int)
    /// SIGTERM. When the process has ended, it is started again.
    case terminate(Role)
    /// A command for one server.
    case redis(String)
}

/// Faults of the simulator for a while: fields of its faults, as JSON without the braces.
struct APNsFault: Sendable {
    var title: String
    var faults: String
    /// Whether doubted tokens get their 410s.
    var doubts: Bool
    var milliseconds: Int
}

extension Plan {
    private var actionsLine: String { "actions: " + Action.text(actions) }

    /// The plan as text: one line for each event, in order.
    var lines: [String] {
        var lines: [(at: Int, text: String)] = [(0, actionsLine)]
        if redis.isCluster {
            lines.append((0, "a cluster " + (needsEveryNode ? "that needs every node" : "whose nodes serve alone")))
        }
        for (cohort, at) in deaths.enumerated() { lines.append((at, "tokens of cohort \(cohort) die")) }
        for planned in disturbances { lines.append((planned.at, "\(planned.what)")) }
        for planned in apnsFaults {
            lines.append((planned.at, "APNs for \(planned.what.milliseconds) ms: \(planned.what.title)"))
        }
        for planned in broadcastFaults {
            lines.append((planned.at, "broadcasts for \(planned.what.milliseconds) ms: \(planned.what.title)"))
        }
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
        return lines.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            .map { Clock.stamp($0.element.at) + "  " + $0.element.text }
    }
}
