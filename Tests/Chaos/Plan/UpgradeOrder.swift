/// The order in which an upgrade restarts gateways and workers. One by one, it goes there, back in the reverse order,
/// and there again, so that each process of each release meets what the others wrote.
enum UpgradeOrder: String, CaseIterable, Sendable {
    case gatewaysFirst = "gateways-first"
    case workersFirst = "workers-first"
    /// A gateway, a worker, a gateway, a worker: like machines that each run one of both.
    case machines

    enum Release: String, Sendable { case old, new }

    /// One step: a process ends in order and comes back as another release.
    typealias Step = (role: Role, release: Release)

    var steps: [Step] {
        let there = roles.map { ($0, Release.new) }
        return there + roles.reversed().map { ($0, .old) } + there
    }

    private var roles: [Role] {
        let gateways = (1...Plan.gateways).map { Role.gateway($0) }
        let workers = (1...Plan.workers).map { Role.worker($0) }
        switch self {
        case .gatewaysFirst: return gateways + workers
        case .workersFirst: return workers + gateways
        case .machines:
            let pairs = zip(gateways, workers).flatMap { [$0, $1] }
            return pairs + gateways.dropFirst(workers.count) + workers.dropFirst(gateways.count)
        }
    }

    /// The steps, evenly over the run, in place of a plan's other disturbances. The last one leaves time for its
    /// process.
    func disturbances(_ milliseconds: Int) -> [Planned<Disturbance>] {
        let steps = steps
        return steps.enumerated().map { number, step in
            Planned(
                at: milliseconds * (number + 1) / (steps.count + 2), seed: UInt64(number),
                what: .upgrade(step.role, to: step.release))
        }
    }
}
