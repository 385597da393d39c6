extension Plan {
    static let workers = 3
    static let gateways = 2
    static let cohorts = 4
    /// The nodes of a cluster.
    static let nodes = 3

    /// Makes the plan of a run.
    /// - Parameter seed: decides everything in the plan.
    /// - Parameter milliseconds: the length of the run.
    /// - Parameter largest: how many tokens the largest activity has. The others have fewer, down to one.
    /// - Parameter redis: the kind of Redis.
    /// - Parameter actions: the actions that the plan may use.
    init(seed: UInt64, milliseconds: Int, largest: Int, redis: RedisServers.Kind, actions: Set<Action>) {
        self.seed = seed
        self.milliseconds = milliseconds
        self.redis = redis
        // A start compares phones' clocks with Redis's. The others have a time of Redis's clock that matters.
        let steps = Self.stepsRedisClocks(seed, actions)
        let actions = steps ? actions.subtracting([.schedules, .scheduleRaces, .expiries, .forgets]) : actions
        self.actions = actions
        var coverage = SeededRandom(seed, "coverage")
        needsEveryNode = coverage.chance(0.5)
        let channels = largest + largest / 4 + 64
        self.channels = channels
        var random = SeededRandom(seed, "names")
        var names: [NamePlan] = []
        for (index, size) in Self.sizes(largest).enumerated() {
            let pool = size + max(8, size / 5)
            var name = NamePlan(
                index: index, initial: size, pool: pool, first: random.number(0...channels - pool), stages: [])
            name.stages = Self.stages(name, milliseconds, seed)
            names.append(name)
        }
        if !steps { names += Self.startedNames(from: names.count, milliseconds, largest, seed) }
        if actions.contains(.broadcasts) {
            names += Self.broadcastNames(from: names.count, channels, milliseconds, seed)
            broadcastFaults = Self.broadcastFaults(milliseconds, seed)
        }
        if actions.contains(.forgets) {
            names += Self.forgottenNames(from: names.count, channels, milliseconds, seed)
        }
        if actions.contains(.batches) { names = names.map(Self.withBatches) }
        if actions.contains(.silences) { silences = Self.silences(names, milliseconds, seed) }
        if actions.contains(.caps), seed % 3 == 1 { cap = max(1_000, largest / 2) }
        self.names = []
        deaths = (0..<Self.cohorts).map { milliseconds * (2 * $0 + 1) / (2 * Self.cohorts + 1) }
        disturbances =
            Self.disturbances(milliseconds, seed, redis)
            + Self.outages(milliseconds, seed, redis, needsEveryNode: needsEveryNode)
        if actions.contains(.processClocks) { disturbances += Self.clockSteps(milliseconds, seed) }
        if steps { disturbances += Self.redisClockSteps(milliseconds, seed, redis) }
        apnsFaults = Self.apnsFaults(milliseconds, seed)
        self.names = names.map(withVariants)
        // A PUT of a channel has no time of its own, so its order needs a clock of Redis that does not step.
        if actions.contains(.android), !steps { android = AndroidPlan(from: names.count + 1, milliseconds, seed) }
    }

    private static func sizes(_ largest: Int) -> [Int] {
        var sizes = [1, 1, 1, 2, 3, 5, 8, 13, 40, 90, 120, 250, 400, 900]
        sizes += [largest / 16, largest / 8, largest].filter { $0 > 900 }
        return sizes.filter { $0 <= largest }
    }

    /// The mean milliseconds between publishes. A large name has a longer interval, because its sweeps take longer and
    /// newer updates supersede older ones.
    static func interval(_ size: Int) -> Int {
        switch size {
        case ..<10: 1_200
        case ..<100: 2_000
        case ..<1_000: 3_500
        case ..<10_000: 7_000
        default: 15_000
        }
    }

    static func stages(_ name: NamePlan, _ milliseconds: Int, _ seed: UInt64) -> [Stage] {
        var random = SeededRandom(seed, "stages of \(name.index)")
        // The largest name does not end before faults have disturbed its sweeps for a while.
        let ends = endTimes(name, milliseconds, &random)
        var stages: [Stage] = []
        var start = 300
        for (number, end) in (ends + [milliseconds]).enumerated() {
            var stage = Stage()
            let every = interval(name.initial)
            var at = start + random.number(0...every)
            while at < end {
                stage.publishes.append(Planned(at: at, seed: random.next(), what: publish(name, &random)))
                // Sometimes publish twice in quick succession, so that the second push comes during
                // the first one's sweep.
                at += random.chance(0.2) ? random.number(1...200) : random.number(every / 2...every * 3 / 2)
            }
            at = start + random.number(0...every)
            while at < end {
                stage.registrations.append(Planned(at: at, seed: random.next(), what: registrations(name, &random)))
                at += random.number(every / 4...every)
            }
            var goesOn = true
            if number < ends.count {
                let what = Self.end(name, isLast: number == ends.count - 1, &random)
                if what.audience == .all, what.reopens == .never { goesOn = false }
                stage.end = Planned(at: end, seed: random.next(), what: what)
            }
            stages.append(stage)
            start = end
            if !goesOn { break }
        }
        return stages
    }

    private static func endTimes(_ name: NamePlan, _ milliseconds: Int, _ random: inout SeededRandom) -> [Int] {
        let count = random.pick([(4, 0), (4, 1), (2, 2)])
        return (0..<count).map { _ in random.number(milliseconds * 2 / 5...milliseconds * 19 / 20) }.sorted()
    }

    private static func end(_ name: NamePlan, isLast: Bool, _ random: inout SeededRandom) -> End {
        if name.initial > 10, random.chance(0.3) {
            return End(audience: random.chance(0.5) ? .tagA : .both, isTested: false, reopens: .never)
        }
        let reopens: End.Reopening =
            isLast ? random.pick([(5, .never), (3, .others), (2, .same)]) : random.pick([(3, .others), (2, .same)])
        return End(audience: .all, isTested: random.chance(0.7), reopens: reopens)
    }

    static func publish(_ name: NamePlan, _ random: inout SeededRandom) -> Publish {
        let audience: Audience =
            name.initial < 5
            ? .all
            : random.pick([
                (10, .all), (2, .tagA), (2, .tagB), (1, .both), (1, .either), (1, .notA),
                (1, .channel(random.number(0...name.pool - 1))),
            ])
        // Updates that are never superseded accumulate, so a large name rarely gets one for all.
        let isSmall = name.initial < 1_000 || ![.all, .notA].contains(audience)
        return Publish(
            audience: audience, priority: random.chance(0.7) ? 10 : 5, hasAlert: random.chance(isSmall ? 0.25 : 0.04),
            mayBeReplaced: !random.chance(isSmall ? 0.1 : 0.02), isRepeated: random.chance(0.1))
    }

    private static func registrations(_ name: NamePlan, _ random: inout SeededRandom) -> Registrations {
        let few = random.number(1...max(1, min(3, name.initial / 3)))
        let many = max(1, name.initial / random.number(8...25))
        return random.pick([
            (3, .track(few)), (1, .track(many)), (3, .rotate(few)), (2, .rotate(many)), (2, .untrack(min(few, 8))),
            (1, .late(few)),
        ])
    }
}
