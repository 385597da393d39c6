/// Everyday trouble: silent phones, clocks that are set, phones that come back, channels that are forgotten. Each has
/// its own generator, so that a seed without it is otherwise the same.
extension Plan {
    private static let forgottenNames = 2

    /// Names of three channels each that are forgotten now and then. They have channels of their own from `channel` on.
    static func forgottenNames(from first: Int, _ channel: Int, _ milliseconds: Int, _ seed: UInt64) -> [NamePlan] {
        (0..<forgottenNames).map { offset in
            let pool = 12
            // Few followers: then each push is for all, and nothing depends on tags, which are forgotten too.
            var name = NamePlan(
                index: first + offset, initial: 3, pool: pool, first: channel + offset * pool, stages: [],
                hasForgets: true)
            name.stages = stages(name, milliseconds, seed)
            var random = SeededRandom(seed, "forgets of \(name.index)")
            for stage in name.stages.indices {
                for place in name.stages[stage].registrations.indices where random.chance(0.4) {
                    name.stages[stage].registrations[place].what = .forget(random.number(1...2))
                }
            }
            return name
        }
    }

    /// Lets some registrations come in one SDK batch, from phones that were offline.
    static func withBatches(_ name: NamePlan) -> NamePlan {
        var name = name
        if name.isStarted { return name }
        for stage in name.stages.indices {
            for (place, planned) in name.stages[stage].registrations.enumerated() {
                guard case .rotate(let count) = planned.what else { continue }
                var random = SeededRandom(planned.seed, Action.batches.rawValue)
                guard random.chance(0.5) else { continue }
                name.stages[stage].registrations[place].what = .batch(min(count, 20))
            }
        }
        return name
    }

    /// One silence at a time for each name, with pauses, among the names of at least two followers.
    static func silences(_ names: [NamePlan], _ milliseconds: Int, _ seed: UInt64) -> [Planned<Silence>] {
        var random = SeededRandom(seed, Action.silences.rawValue)
        let names = names.filter { $0.initial > 1 && !$0.isStarted }
        guard !names.isEmpty else { return [] }
        var planned: [Planned<Silence>] = []
        var ends: [Int: Int] = [:]
        var at = random.number(500...3_000)
        while at < milliseconds - 1_000 {
            let name = names[random.number(0...names.count - 1)]
            let length = min(random.number(2_000...15_000), milliseconds - at)
            if ends[name.index, default: 0] < at {
                // A share of a very large name would leave nobody whose answers count.
                let share = (10...4_000).contains(name.initial) ? 2.0 : 0
                let places = random.pick([
                    (3, 1), (name.initial > 40 ? 1 : 0, 16), (share, name.initial / 10), (share, name.initial / 5),
                ])
                planned.append(
                    Planned(
                        at: at, seed: random.next(),
                        what: Silence(name: name.index, places: places, milliseconds: length)))
                ends[name.index] = at + length
            }
            at += random.number(1_000...6_000)
        }
        return planned
    }

    /// Steps of process clocks.
    static func clockSteps(_ milliseconds: Int, _ seed: UInt64) -> [Planned<Disturbance>] {
        clockSteps(.processClocks, milliseconds, seed, from: 2_000...6_000, every: 3_000...12_000) { random in
            let role: Role =
                random.chance(0.5) ? .worker(random.number(1...workers)) : .gateway(random.number(1...gateways))
            let ahead = random.pick([
                (2, 0), (2, random.number(-5...5)), (2, random.number(-120...120)), (1, random.number(-3_600...3_600)),
            ])
            return .clock(role, ahead: ahead)
        }
    }

    /// Steps of the clocks of Redis servers, each of which is on a machine of its own.
    static func redisClockSteps(
        _ milliseconds: Int, _ seed: UInt64, _ redis: RedisServers.Kind
    ) -> [Planned<Disturbance>] {
        let servers = redis.dataRoles
        return clockSteps(.redisClocks, milliseconds, seed, from: 3_000...8_000, every: 4_000...15_000) { random in
            let ahead = random.pick([(2, 0), (2, random.number(-3...3)), (2, random.number(-30...30))])
            return .clock(servers[random.number(0...servers.count - 1)], ahead: ahead)
        }
    }

    private static func clockSteps(
        _ action: Action, _ milliseconds: Int, _ seed: UInt64, from first: ClosedRange<Int>, every: ClosedRange<Int>,
        _ step: (inout SeededRandom) -> Disturbance
    ) -> [Planned<Disturbance>] {
        var random = SeededRandom(seed, action.rawValue)
        var planned: [Planned<Disturbance>] = []
        var at = random.number(first)
        while at < milliseconds - 1_000 {
            let what = step(&random)
            planned.append(Planned(at: at, seed: random.next(), what: what))
            at += random.number(every)
        }
        return planned
    }

    /// Trouble of only one kind of Redis: failovers on purpose, and a cluster's node that stays away while the
    /// others go on.
    static func outages(
        _ milliseconds: Int, _ seed: UInt64, _ redis: RedisServers.Kind, needsEveryNode: Bool
    ) -> [Planned<Disturbance>] {
        var random = SeededRandom(seed, "outages")
        var planned: [Planned<Disturbance>] = []
        var at = random.number(5_000...10_000)
        while at < milliseconds - 12_000 {
            if redis == .sentinel {
                planned.append(Planned(at: at, seed: random.next(), what: .failover))
            } else if redis.isCluster, !needsEveryNode {
                let down = random.number(4_000...10_000)
                planned.append(
                    Planned(at: at, seed: random.next(), what: .kill(.node(random.number(1...nodes)), down: down)))
            }
            at += random.number(15_000...30_000)
        }
        return planned
    }
}
