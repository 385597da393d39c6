import Foundation
import Synchronization
import TestSupport

/// Produces the plan's faults. It also notes the connections of each process that it killed or stopped, because later
/// requests on these were already on the wire.
final class Disturber: Sendable {
    struct Interruption: Sendable {
        var role: Role
        /// Epoch ms.
        var at: Int64
        var ports: Set<Int>
        /// Whether others took over its tasks, because it stopped for long or ended.
        var losesWork: Bool
        /// Epoch ms until which its connections carry what was on the wire; nil: for ever.
        var until: Int64?
        /// If a replica may have become the primary: epoch ms until which the old one may have answered.
        var replacedAt: Int64?

        /// Whether a registration with this time of its response may be lost: a publish waits for the replica, a
        /// registration does not (docs/operations.md).
        func mayLose(answered: Int64) -> Bool {
            replacedAt.map { (at - 2_000...$0 + 1_000).contains(answered) } ?? false
        }

        /// Whether the request was on the wire, or about to be, when this began. A new primary may let any worker send
        /// again.
        func explains(_ request: Request) -> Bool {
            (replacedAt != nil || ports.contains(request.port)) && at <= request.at
                && until.map { request.at <= $0 } ?? true
        }
    }

    struct State {
        var interruptions: [Interruption] = []
        var counts: [String: Int] = [:]
        /// The time at which each cohort died, in epoch ms.
        var deaths: [Int64] = []
        /// The times at which suspended processes continued, in epoch ms.
        var wakes: [(role: Role, at: Int64)] = []
        var apnsFault: APNsFault?
        var broadcastFault: APNsFault?
        /// For each name: the beginning of the refused tokens, and the reason.
        var refusals: [Int: (prefix: String, reason: String)] = [:]
        /// For each name: the beginnings of the tokens that APNs does not answer for.
        var silences: [Int: [String]] = [:]
        var busy: Set<Role> = []
        var fcm = FCMState()

        /// The faults in the simulator's JSON.
        var faults: String {
            let refused = refusals.values.map { #"{"prefix":"\#($0.prefix)","reason":"\#($0.reason)"}"# }
            // Two faults may stall requests: then that of broadcasts waits for the end of the other.
            let both = apnsFault?.faults.contains("stall_") == true && broadcastFault?.faults.contains("stall_") == true
            let faults = [
                both ? "" : broadcastFault?.faults ?? "",
                Tokens.deadTokens(since: deaths, doubted: apnsFault?.doubts == true), apnsFault?.faults ?? "",
                refused.isEmpty ? "" : #""refused_tokens":[\#(refused.joined(separator: ","))]"#,
                silences.isEmpty
                    ? ""
                    : #""stall_tokens":[\#(silences.values.joined().map { "\"\($0)\"" }.joined(separator: ","))]"#,
            ]
            return "{" + faults.filter { !$0.isEmpty }.joined(separator: ",") + "}"
        }
    }

    let fleet: Fleet
    let log: EventLog
    let state = Mutex(State())
    /// The last call that sets the simulator's faults.
    let applying = Mutex<Task<Void, Never>?>(nil)

    init(_ fleet: Fleet, log: EventLog) {
        self.fleet = fleet
        self.log = log
    }

    var interruptions: [Interruption] { state.withLock { $0.interruptions } }
    var counts: [String: Int] { state.withLock { $0.counts } }
    var deaths: [Int64] { state.withLock { $0.deaths } }
    var wakes: [(role: Role, at: Int64)] { state.withLock { $0.wakes } }

    func run(_ plan: Plan) async {
        await withDiscardingTaskGroup { group in
            for planned in plan.disturbances {
                group.addTask {
                    await self.log.clock.sleep(until: planned.at)
                    await self.disturb(planned)
                }
            }
            for (cohort, at) in plan.deaths.enumerated() {
                group.addTask {
                    await self.log.clock.sleep(until: at)
                    self.change { $0.deaths.append(Clock.epoch) }
                    self.log.note("cohort \(cohort) dies")
                    await self.applyFaults()
                }
            }
            group.addTask {
                for planned in plan.apnsFaults {
                    await self.log.clock.sleep(until: planned.at)
                    await self.change(planned.what)
                    await self.log.clock.sleep(until: planned.at + planned.what.milliseconds)
                    await self.change(nil)
                }
            }
            for planned in plan.silences {
                group.addTask {
                    await self.log.clock.sleep(until: planned.at)
                    await self.silence(planned.what)
                }
            }
            group.addTask {
                for planned in plan.broadcastFaults {
                    await self.log.clock.sleep(until: planned.at)
                    await self.changeBroadcasts(planned.what)
                    await self.log.clock.sleep(until: planned.at + planned.what.milliseconds)
                    await self.changeBroadcasts(nil)
                }
            }
        }
    }

    func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
    }

    // MARK: Processes

    private func disturb(_ planned: Planned<Disturbance>) async {
        switch planned.what {
        case .kill(let role, let down):
            await alone(role) {
                log.announce("kill -9 \(role), \(down) ms down")
                interrupt(role, losesWork: true)
                fleet.signal(role, SIGKILL)
                _ = await fleet.program(role)?.end(within: .seconds(10))
                try? await Task.sleep(for: .milliseconds(down))
                start(role)
            }
        case .stop(let role, let length):
            await alone(role) {
                log.announce("SIGSTOP \(role) for \(length) ms")
                fleet.signal(role, SIGSTOP)
                // Read its open connections while it is stopped, because it opens no new ones then.
                interrupt(role, losesWork: length > Plan.patience(with: role), for: length)
                try? await Task.sleep(for: .milliseconds(length))
                fleet.signal(role, SIGCONT)
                state.withLock { $0.wakes.append((role, Clock.epoch)) }
                log.note("SIGCONT \(role)")
            }
        case .terminate(let role):
            await alone(role) {
                await terminate(role)
                start(role)
            }
        case .upgrade(let role, let release):
            await alone(role) {
                await terminate(role)
                replace(role, release)
            }
        case .clock(let role, let ahead):
            log.announce("the clock of \(role) is set to \(ahead) s ahead")
            count(role.isRedis ? "clocks of Redis set" : "clocks of processes set")
            let began = Clock.epoch
            let step = fleet.setClock(role, ahead: .seconds(ahead))
            if role.isRedis, step >= .milliseconds(Plan.claimAfter) { lapse(role, began) }
        case .failover: await failOver()
        case .redis(let command):
            let servers = fleet.redis.dataRoles
            let server = servers[Int(planned.seed % UInt64(servers.count))]
            log.announce("\(server): \(command)")
            count("redis commands")
            send(command, to: server)
        }
    }

    /// A planned failover. Work that the old primary did not replicate is done again.
    private func failOver() async {
        let ports = workerPorts()
        let at = Clock.epoch
        let before = await fleet.redis.primaryPort()
        guard await fleet.redis.failOver() else { return log.note("no sentinel began a failover") }
        log.announce("a planned failover")
        count("planned failovers")
        // Sentinels may need long for it, or give it up, and the old primary may answer until then.
        let isOver = await fleet.redis.isReplaced(before, within: .seconds(60))
        log.note(isOver ? "the failover is over" : "the failover did not happen within a minute")
        let end = Clock.epoch
        let interruption = Interruption(
            role: .redis, at: at - Self.unreplicated, ports: ports, losesWork: true,
            until: end + Self.repetition, replacedAt: end)
        state.withLock { $0.interruptions.append(interruption) }
    }
    /// Ms before a failover of which a replica may not have everything.
    private static let unreplicated: Int64 = 1_000
    /// Ms after a failover until pages are sent again that the new primary does not know to be settled.
    private static let repetition = Int64(Plan.requestTimeout + 3 * Plan.claimAfter)

    /// The clock of a server of Redis was set forward, so the leases there lapsed while their owners' requests are out.
    private func lapse(_ role: Role, _ at: Int64) {
        let interruption = Interruption(
            role: role, at: at, ports: workerPorts(), losesWork: true, until: Clock.epoch + Self.repetition)
        state.withLock { $0.interruptions.append(interruption) }
    }

    private func workerPorts() -> Set<Int> {
        Set(
            (1...Plan.workers).flatMap {
                PeerPorts.ports(of: fleet.program(.worker($0))?.pid ?? 0, to: fleet.pushPorts)
            })
    }

    private func terminate(_ role: Role) async {
        log.announce("SIGTERM \(role)")
        interrupt(role, losesWork: false)
        fleet.signal(role, SIGTERM)
        let end = await fleet.program(role)?.end(within: .seconds(40))
        log.note("\(role) ended with \(end.map { "\($0.code)" } ?? "nothing: it still runs")")
        if end == nil { fleet.program(role)?.kill() }
    }

    private func replace(_ role: Role, _ release: UpgradeOrder.Release) {
        log.announce("\(role) becomes the \(release) release")
        fleet.use(release, role)
        count("processes replaced by the \(release) release")
        start(role)
    }

    /// Produces one fault at a time for each process. A fault that comes during another one is left out.
    private func alone(_ role: Role, _ body: () async -> Void) async {
        guard state.withLock({ $0.busy.insert(role).inserted }) else {
            log.note("\(role) is disturbed already")
            return
        }
        await body()
        _ = state.withLock { $0.busy.remove(role) }
    }

    private func start(_ role: Role) {
        do { try fleet.start(role) } catch { log.note("\(role) could not be started: \(error)") }
    }

    /// - Parameter length: ms after which it goes on where it was
    private func interrupt(_ role: Role, losesWork: Bool, for length: Int = 0) {
        count(losesWork ? "\(role) killed or stopped for long" : "\(role) stopped for a moment or asked to end")
        let ports =
            role == .simulator
            ? workerPorts() : Set(PeerPorts.ports(of: fleet.program(role)?.pid ?? 0, to: fleet.pushPorts))
        var interruption = Interruption(role: role, at: Clock.epoch, ports: ports, losesWork: losesWork)
        if case .server = role {
            let end = interruption.at + Int64(length)
            (interruption.replacedAt, interruption.until) = (end, end + Int64(Plan.downAfter) + Self.repetition)
        }
        state.withLock { $0.interruptions.append(interruption) }
        let list = ports.sorted().map(String.init).joined(separator: " ")
        log.note("\(role) has connections to APNs and FCM from \(list.isEmpty ? "nowhere" : list)")
    }

    private func count(_ what: String) { state.withLock { $0.counts[what, default: 0] += 1 } }

    private func send(_ command: String, to server: Role) {
        guard let socket = fleet.redis.socket(server) else { return }
        _ = try? ChildProcess(["redis-cli", "-s", socket] + command.split(separator: " ").map(String.init))
    }
}

extension [Disturber.Interruption] {
    /// Whether one of them may have lost the place's registration.
    func mayLose(_ place: Activity.Place) -> Bool { contains { $0.mayLose(answered: place.answered) } }
}
