import Foundation

extension Activity {
    func change(_ planned: Planned<Registrations>) async throws {
        var random = SeededRandom(planned.seed)
        switch planned.what {
        case .track(let count): try await register(pick(count, .out, &random), at: planned.at, &random)
        case .rotate(let count): try await register(pick(count, .following, &random), at: planned.at, &random)
        case .untrack(let count):
            // At least one channel must keep following, so that there is something to check.
            let following = places.count { $0.state == .following }
            for place in pick(min(count, following - 1), .following, &random) {
                try await untrack(place, byTime: random.chance(0.7))
            }
        case .batch(let count):
            for place in pick(count, .following, &random) { try await comeBack(place, at: planned.at, &random) }
        case .forget(let count):
            let following = places.count { $0.state == .following }
            for place in pick(min(count, following - 1), .following, &random) where !mayRegisterLate(place) {
                try await forget(place)
            }
        case .late(let count):
            for _ in 0..<min(count, former.count) {
                try await repeatLate(former[random.number(0...former.count - 1)])
            }
        }
    }

    /// Different places in this state, at most `count`. A place whose card is reporting its token
    /// right now is left out.
    func pick(_ count: Int, _ state: State, _ random: inout SeededRandom) -> [Int] {
        guard count > 0 else { return [] }
        let all = places.indices.filter { places[$0].state == state && places[$0].answered < .max }
        if all.count <= count { return all }
        var picked: Set<Int> = []
        while picked.count < count { picked.insert(all[random.number(0...all.count - 1)]) }
        return picked.sorted()
    }

    /// Whether an attempt to register the place may still be on its way, in a suspended gateway for example. A request
    /// to forget the channel cannot tell it from a later registration of a device whose clock is slow.
    private func mayRegisterLate(_ place: Int) -> Bool { Clock.epoch - places[place].repeated < 60_000 }

    /// Registers new tokens for these places, singly or in bulk. A place gets its first token or its next one.
    /// - Parameter chosen: the places.
    /// - Parameter at: milliseconds of the run, as planned.
    /// - Parameter random: decides how each one is registered.
    /// - Parameter starts: for places whose cards a start created, the number of that start.
    func register(
        _ chosen: [Int], at: Int, _ random: inout SeededRandom, startedBy starts: [Int: Int] = [:]
    ) async throws {
        guard !chosen.isEmpty else { return }
        try await pause(chosen)
        var old: [Int: Former] = [:]
        for place in chosen {
            old[place] = nextToken(place, at: at, &random)
            places[place].startedBy = starts[place]
            if let start = starts[place] { noteReportedCard(place, start) }
        }
        if chosen.count <= 3 {
            // Each at its own time: a failover may lose the first one while the last one is repeated.
            for place in chosen {
                let answer = try await put(place)
                noteAnswer(answer, [place], replacing: old[place].map { [$0] } ?? [])
            }
        } else {
            let lines = chosen.map { #"{"channel":"\#(channel($0))",\#(body($0))}"# + "\n" }.joined()
            let answer = try await gateways.call(
                "POST", "\(plan.path)/channels", lines,
                timeout: .seconds(chosen.count > 2_000 ? 60 : 10))
            if answer.status != 200 || answer.json["rejected_count"] as? Int != 0 {
                found.note(.refused, "\(plan.name): \(chosen.count) registrations: \(answer.status) \(answer.text)")
            }
            noteAnswer(answer, chosen, replacing: Array(old.values))
        }
    }

    /// Notes that the changes of these places were answered, which ended the tokens in `old`.
    private func noteAnswer(
        _ answer: Gateways.Answer, _ chosen: [Int], replacing old: [Former], lasting rest: Int64 = 0
    ) {
        let now = Clock.epoch
        for place in chosen {
            places[place].answered = now
            if answer.attempts > 1 { places[place].repeated = now }
        }
        former += old.map { Former(id: $0.id, registered: $0.registered, answered: now, gone: now + rest) }
    }

    /// The place's token, which is about to be replaced or removed.
    private func leaving(_ place: Int) -> Former {
        Former(id: token(place), registered: places[place].registered, answered: 0, gone: 0)
    }

    /// Gives a place its next token, which is to be registered.
    /// - Returns: the token that it replaces; nil for the first one
    private func nextToken(_ place: Int, at: Int, _ random: inout SeededRandom) -> Former? {
        let old = places[place].generation > 0 ? leaving(place) : nil
        let cohorts = (run.deaths.firstIndex { $0 > at + 3_000 } ?? Plan.cohorts)..<Plan.cohorts
        places[place].generation += 1
        places[place].fate = Tokens.fate(&random, size: plan.initial, living: cohorts)
        places[place].registered = time(place)
        places[place].answered = .max
        places[place].after = lastEnd(place)
        // An older time by a slow clock may make the card seem older than the end.
        places[place].closed = hasSlowClock(place) ? 0 : ends.last { $0.audience == .all }?.number ?? 0
        places[place].state = .following
        places[place].startedBy = nil
        return old
    }

    /// One SDK batch of a phone that was offline: a card that began and ended meanwhile, and the one that runs now.
    private func comeBack(_ place: Int, at: Int, _ random: inout SeededRandom) async throws {
        try await pause([place])
        var old: [Former] = []
        var actions: [String] = []
        func set() -> String {
            #"{"action":"set","type":"update_token","id":"g\#(places[place].generation)","name":"\#(plan.name)","#
                + #""token":"\#(Tokens.hex(token(place)))","action_ts_ms":\#(places[place].registered)}"#
        }
        if let former = nextToken(place, at: at, &random) { old.append(former) }
        actions.append(set())
        actions.append(removal(place))
        if let former = nextToken(place, at: at, &random) { old.append(former) }
        actions.append(set())
        let answer = try await batch(place, actions)
        if answer.status != 200 || answer.json["problems"] != nil {
            found.note(.refused, "\(plan.name): a batch of place \(place): \(answer.status) \(answer.text)")
        }
        noteAnswer(answer, [place], replacing: old)
    }

    private func removal(_ place: Int) -> String {
        #"{"action":"remove","id":"g\#(places[place].generation)","name":"\#(plan.name)","#
            + #""action_ts_ms":\#(time(place))}"#
    }

    private func batch(_ place: Int, _ actions: [String]) async throws -> Gateways.Answer {
        try await gateways.call(
            "PUT", "/api/channels/sdk/batch/\(channel(place))?platform=ios",
            #"{"live_activities":[\#(actions.joined(separator: ","))]}"#)
    }

    /// Forgets a channel. It may register again right afterwards.
    private func forget(_ place: Int) async throws {
        let gone = leaving(place)
        try await pause([place])
        _ = time(place)
        places[place].state = .out
        places[place].answered = .max
        let answer = try await gateways.call(
            "POST", "/api/channels/uninstall", #"[{"channel_id":"\#(channel(place))","device_type":"ios"}]"#)
        if answer.status != 202 {
            found.note(.refused, "\(plan.name): forgetting place \(place): \(answer.status) \(answer.text)")
        }
        noteAnswer(answer, [place], replacing: [gone], lasting: forgetting)
        places[place].forgotten = places[place].answered
    }

    /// Waits until 250 ms after the last change of each place. Gateways know Redis's clock only to some milliseconds.
    private func pause(_ chosen: [Int]) async throws {
        let left = chosen.map { places[$0].last + 250 - now($0) }.max() ?? 0
        if left > 0 { try await Task.sleep(for: .milliseconds(left)) }
    }

    private func body(_ place: Int) -> String {
        #""token":"\#(Tokens.hex(token(place)))","registered_at_ms":\#(places[place].registered),"#
            + #""activity_id":"g\#(places[place].generation)""#
    }

    private func put(_ place: Int) async throws -> Gateways.Answer {
        let answer = try await gateways.call(
            "PUT", "\(plan.path)/channels/\(channel(place))", "{\(body(place))}")
        // A repeated call finds the registration that the first call stored.
        let isStored = answer.json["result"] as? String == "stored" || answer.attempts > 1
        if answer.status != 200 || !isStored {
            found.note(.refused, "\(plan.name): registration of place \(place): \(answer.status) \(answer.text)")
        }
        return answer
    }

    private func untrack(_ place: Int, byTime: Bool) async throws {
        let gone = leaving(place)
        try await pause([place])
        places[place].state = byTime ? .out : .retired
        places[place].answered = .max
        let answer: Gateways.Answer
        if byTime {
            answer = try await batch(place, [removal(place)])
        } else {
            answer = try await gateways.call("DELETE", "\(plan.path)/channels/\(channel(place))")
        }
        if answer.status != 200 && answer.status != 204 {
            found.note(.refused, "\(plan.name): removal of place \(place): \(answer.status) \(answer.text)")
        }
        noteAnswer(answer, [place], replacing: [gone])
    }

    /// Repeats an old registration, like an app that was offline for a while. It must be reported as stale, unless a
    /// failover lost the change that made it old: the judge knows.
    private func repeatLate(_ old: Former) async throws {
        // Nothing of it is known any more, so it would be a new registration.
        if places[Int(old.id.place)].forgotten > old.registered { return }
        let body =
            #"{"token":"\#(Tokens.hex(old.id))","registered_at_ms":\#(old.registered),"#
            + #""activity_id":"g\#(old.id.generation)"}"#
        let path = "\(plan.path)/channels/\(channel(Int(old.id.place)))"
        let answer = try await gateways.call("PUT", path, body)
        if answer.status != 200 || answer.json["result"] as? String != "stale" {
            returned.append(Returned(former: old, answer: "\(answer.status) \(answer.text)"))
        }
    }
}
