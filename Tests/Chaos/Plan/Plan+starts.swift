/// Names whose cards pushes create. Each goes a few times from a start over updates to an end.
extension Plan {
    static let attributesType = "ChaosAttributes"
    private static let startedNames = 3

    /// The first channels of the run have a start token. In the largest runs there are enough for several shards.
    static func startTokens(_ largest: Int) -> Int { min(3_000, max(64, largest / 4)) }

    static func startedNames(from index: Int, _ milliseconds: Int, _ largest: Int, _ seed: UInt64) -> [NamePlan] {
        (index..<index + startedNames).map { index in
            let count = startTokens(largest)
            var name = NamePlan(index: index, initial: count, pool: count, first: 0, stages: [], isStarted: true)
            name.stages = startedStages(name, milliseconds, seed)
            return name
        }
    }

    private static func startedStages(_ name: NamePlan, _ milliseconds: Int, _ seed: UInt64) -> [Stage] {
        var random = SeededRandom(seed, "starts of \(name.index)")
        var stages: [Stage] = []
        var at = 500 + random.number(0...6_000)
        while at < milliseconds - 4_000 {
            let end = at + random.number(8_000...24_000)
            let begin = at
            let audience = random.pick([(3, Audience.all), (1, .tagA), (1, .either), (2, .notA)])
            var stage = Stage()
            while at < min(end, milliseconds) {
                var publish = Self.publish(name, &random)
                // The first start opens the name. A repeated start meets devices that reported their token and
                // devices that did not.
                if stage.publishes.isEmpty || random.chance(0.12) {
                    publish.isStart = true
                    publish.hasAlert = true
                    publish.audience = random.chance(0.7) ? audience : .both
                    publish.mayBeReplaced = true
                }
                stage.publishes.append(Planned(at: at, seed: random.next(), what: publish))
                at += random.chance(0.3) ? random.number(1...300) : random.number(500...5_000)
            }
            at = begin + random.number(2_000...6_000)
            while at < min(end, milliseconds) {
                let few = random.number(1...3)
                let what: Registrations = random.pick([(3, .rotate(few)), (2, .untrack(few)), (1, .late(few))])
                stage.registrations.append(Planned(at: at, seed: random.next(), what: what))
                at += random.number(1_000...4_000)
            }
            if end < milliseconds {
                let what = End(
                    audience: .all, isTested: random.chance(0.5), reopens: .never, waits: random.chance(0.5))
                stage.end = Planned(at: end, seed: random.next(), what: what)
            }
            stages.append(stage)
            at = end + random.number(200...3_000)
        }
        return stages
    }
}
