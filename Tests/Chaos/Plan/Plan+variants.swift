/// The actions of a plan. Each has its own generator, so that a seed without an action is otherwise the same.
extension Plan {
    /// Variants that wait for something do not begin in these last milliseconds, so that a run ends soon after its
    /// plan.
    private static let last = 12_000

    func withVariants(_ name: NamePlan) -> NamePlan {
        var name = name
        name.hasOddName = actions.contains(.names)
        if name.isStarted { return withScheduleRaces(name) }
        name.stages = name.stages.flatMap { split($0, name) }
        for index in name.stages.indices {
            for place in name.stages[index].publishes.indices {
                let planned = name.stages[index].publishes[place]
                name.stages[index].publishes[place].what.variant = variant(planned, name)
            }
            if let end = name.stages[index].end, end.what.cancelledAfter == nil {
                let varied = varied(end, size: name.initial)
                name.stages[index].end?.what = varied
            }
        }
        let times = milliseconds / 4..<max(milliseconds / 4, milliseconds - Self.last)
        return name.hasBroadcastChannel ? Self.withRefusedAlert(name, between: times) : name
    }

    /// For some starts, lets an update of the same name wait for about the same time.
    private func withScheduleRaces(_ name: NamePlan) -> NamePlan {
        guard actions.contains(.scheduleRaces) else { return name }
        var name = name
        for index in name.stages.indices {
            for (place, planned) in name.stages[index].publishes.enumerated() where planned.what.isStart {
                var random = SeededRandom(planned.seed, Action.scheduleRaces.rawValue)
                guard random.chance(0.4), planned.at <= milliseconds - Self.last else { continue }
                name.stages[index].publishes[place].what.variant = .besideSchedule(due: random.number(-150...150))
            }
        }
        return name
    }

    private func variant(_ planned: Planned<Publish>, _ name: NamePlan) -> PublishVariant {
        // About two variants of each kind in a minute, whatever the size of the name.
        let share = min(0.15, Double(Self.interval(name.initial)) / 30_000)
        for action in [Action.schedules, .refusals, .expiries, .cancels] where actions.contains(action) {
            var random = SeededRandom(planned.seed, action.rawValue)
            guard random.chance(share) else { continue }
            switch action {
            case .cancels: return .cancelled(after: random.chance(0.3) ? 0 : random.number(1...400))
            case _ where planned.at > milliseconds - Self.last: continue
            case .schedules: return .scheduled(Self.schedules(&random))
            case .refusals: return .refused(Self.refusal(name, &random))
            // A broadcast that is delivered does not expire with its tokens.
            case .expiries where name.hasBroadcastChannel: continue
            case .expiries: return .expiring(seconds: random.number(2...4))
            default: continue
            }
        }
        return .plain
    }

    private static func schedules(_ random: inout SeededRandom) -> [Scheduled] {
        var delay = 0
        return (0..<random.number(2...5)).map { _ in
            let change: Scheduled.Change = random.pick([
                (6, .none), (2, .replaced), (1, .deleted), (1, .deletedLate(by: random.number(-300...300))),
            ])
            // Short delays, so that a worker often finds several updates due at once.
            defer { delay += random.chance(0.6) ? random.number(1...60) : random.number(60...900) }
            return Scheduled(delay: delay, change: change)
        }
    }

    private static func refusal(_ name: NamePlan, _ random: inout SeededRandom) -> Refusal {
        let places: Int? = random.pick([(2, nil), (1, 16), (name.initial > 256 ? 2 : 0, 256)])
        return Refusal(
            reason: random.pick([(3, "TopicDisallowed"), (1, "BadTopic"), (1, "PayloadTooLarge")]), places: places,
            isDropped: random.chance(0.25))
    }

    /// Adds variants to an end, but keeps its time and its audience.
    private func varied(_ planned: Planned<End>, size: Int) -> End {
        var end = planned.what
        if actions.contains(.ends) {
            var random = SeededRandom(planned.seed, Action.ends.rawValue)
            end.isStateless = random.chance(0.4)
            end.followsUpdate = random.chance(0.5)
            end.isRepeated = end.audience == .all && random.chance(0.4)
        }
        if actions.contains(.crossings), end.audience == .all {
            var random = SeededRandom(planned.seed, Action.crossings.rawValue)
            if random.chance(0.5) {
                end.crossing = random.number(1...3)
                // A channel that registers meanwhile may open the name, so let another channel certainly open it.
                if end.reopens == .never { end.reopens = .others }
                end.isTested = false
            }
        }
        if actions.contains(.newCards) {
            var random = SeededRandom(planned.seed, Action.newCards.rawValue)
            if random.chance(0.5) {
                end.newCards = random.number(1...max(1, min(30, size / 4)))
                // Gateways know Redis's clock only to some milliseconds, so a registration right behind the 202 may
                // seem older than the end.
                end.newCardsAfter = random.number(50...400)
                // The new cards open the name.
                end.isTested = false
                end.isRepeated = false
            }
        }
        if actions.contains(.scheduleRaces), end.crossing == 0, end.newCards == 0 {
            var random = SeededRandom(planned.seed, Action.scheduleRaces.rawValue)
            if random.chance(0.5), planned.at <= milliseconds - Self.last {
                end.scheduleDue = random.number(-150...150)
                // An update that is accepted before the scheduled one is newer by its number.
                end.followsUpdate = false
            }
        }
        return end
    }

    /// Sometimes splits a stage into two, with a cancelled end between them.
    private func split(_ stage: Stage, _ name: NamePlan) -> [Stage] {
        // The broadcast of a cancelled end may have been delivered: then the name is closed.
        guard actions.contains(.cancelledEnds), !name.hasBroadcastChannel, stage.publishes.count >= 4 else {
            return [stage]
        }
        var random = SeededRandom(stage.publishes[0].seed, Action.cancelledEnds.rawValue)
        guard random.chance(0.5) else { return [stage] }
        let at = stage.publishes[random.number(1...stage.publishes.count - 1)].at
        let isForAll = name.initial <= 10 || random.chance(0.7)
        var end = End(audience: isForAll ? .all : .tagA, isTested: false, reopens: .same)
        // While its requests are on the wire, or wait for another attempt.
        end.cancelledAfter = random.pick([(3, 0), (3, random.number(1...400)), (4, random.number(400...8_000))])
        end.followsUpdate = random.chance(0.5)
        var first = Stage()
        var second = stage
        first.publishes = stage.publishes.filter { $0.at < at }
        first.registrations = stage.registrations.filter { $0.at < at }
        first.end = Planned(at: at, seed: random.next(), what: end)
        second.publishes.removeAll { $0.at < at }
        second.registrations.removeAll { $0.at < at }
        return [first, second]
    }
}
