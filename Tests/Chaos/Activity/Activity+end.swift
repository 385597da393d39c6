import Foundation

extension Activity {
    /// Ends the name. Nothing else happens to the name meanwhile, except that some channels register while
    /// the end is accepted.
    func end(_ planned: Planned<End>) async throws {
        let end = planned.what
        let audience = end.audience
        var random = SeededRandom(planned.seed)
        if plan.isStarted { try await overtakeStarts(waits: end.waits) }
        let scheduled: Made? = if let due = end.scheduleDue { try await scheduleBeside(due) } else { nil }
        if end.followsUpdate { _ = try await publishPlain(Publish(audience: .all)) }
        let crossing = pick(end.crossing, .following, &random) + pick(end.crossing, .out, &random)
        let crossed = random
        async let registered: Void = registerBeside(crossing, at: planned.at, crossed)
        let accepted = try await send(event: "end", audience: audience, hasState: !end.isStateless)
        try await registered
        guard let accepted else {
            found.note(.refused, "\(plan.name): the end was refused although the name is open")
            return
        }
        // For these channels it is unknown whether they registered before the end.
        for place in crossing where places[place].state == .following {
            places[place].state = .unclear(accepted.number)
        }
        if let after = end.cancelledAfter, try await cancelEnd(accepted, audience, after) { return }
        ends.append((accepted.number, audience, Clock.epoch))
        let newCards = pickNewCards(end, planned.seed)
        for place in places.indices where covers(audience, place) && !newCards.contains(place) {
            noteEnded(place, by: accepted.number)
        }
        if let scheduled { try await settled(scheduled) }
        if !newCards.isEmpty {
            try await Task.sleep(for: .milliseconds(end.newCardsAfter))
            var random = SeededRandom(planned.seed, "new cards")
            try await register(newCards.sorted(), at: planned.at, &random)
        }
        guard audience == .all else { return }
        isEnded = newCards.isEmpty
        if end.isRepeated { try await endAgain(accepted.number) }
        if end.isTested, try await send(event: "update", audience: .all) != nil {
            found.note(.endIgnored, "\(plan.name): update \(number) was taken after the end \(accepted.number)")
        }
        switch end.reopens {
        case .never: break
        case .others where places.contains { $0.state == .out }:
            try await register(pick(max(1, plan.initial / 10), .out, &random), at: planned.at, &random)
        case .others, .same:
            // Wait until the end has arrived, because a device begins again only when its activity is over.
            try await over(accepted.id)
            let places = places.indices.filter {
                [.ended(accepted.number), .unclear(accepted.number)].contains(self.places[$0].state)
            }
            try await register(places, at: planned.at, &random)
        }
        isEnded = places.allSatisfy { $0.state != .following }
    }

    /// Channels that the end covers and whose next card begins after its 202.
    ///
    /// A slow clock is left out: if the end is delivered before the registration, the gateway believes that clock, and
    /// the card seems older than the end.
    private func pickNewCards(_ end: End, _ seed: UInt64) -> Set<Int> {
        guard end.newCards > 0 else { return [] }
        var random = SeededRandom(seed, "channels of new cards")
        let following = places.indices.filter {
            places[$0].state == .following && places[$0].answered < .max && covers(end.audience, $0)
                && !hasSlowClock($0)
        }
        return Set(following.shuffled(using: &random).prefix(end.newCards))
    }

    private func noteEnded(_ place: Int, by end: Int) {
        let number: Int
        switch places[place].state {
        case .following: number = end
        // The end during which the channel registered, or this one.
        case .unclear(let crossed) where crossed != end: number = crossed
        case .out, .ended, .retired, .unclear: return
        }
        ended.append(Ended(id: token(place), place: place, was: places[place], number: number))
        places[place].state = .ended(end)
    }

    private func registerBeside(_ chosen: [Int], at: Int, _ random: SeededRandom) async throws {
        var random = random
        try await register(chosen, at: at, &random)
    }

    /// Sends a second end. It must be accepted while tokens follow, and may be refused only if none does.
    private func endAgain(_ first: Int) async throws {
        if try await send(event: "end", audience: .all) != nil {
            ends.append((number, .all, Clock.epoch))
            return
        }
        let answer = try await gateways.call("GET", plan.path, timeout: .seconds(20))
        // No device begins to follow meanwhile.
        let tokens = answer.json["tokens"] as? Int ?? 0
        if tokens > 0 {
            found.note(.endIgnored, "\(plan.name): an end after \(first) was refused, and \(tokens) follow")
        }
    }

    /// Cancels the end. True if it was cancelled: then no device got it, or it is unknown which ones did.
    private func cancelEnd(_ end: Accepted, _ audience: Audience, _ after: Int) async throws -> Bool {
        try await cancel(end, after: after)
        let ledger = try await over(end.id)
        guard ledger.state == "cancelled" else { return false }
        if ledger["targets"] > 0 {
            for place in places.indices where places[place].state == .following && covers(audience, place) {
                places[place].state = .unclear(end.number)
            }
        }
        // Make sure that at least one device follows.
        if !places.contains(where: { $0.state == .following }) {
            var random = SeededRandom(run.seed, "after the cancelled end \(plan.index)/\(end.number)")
            let out = pick(max(1, plan.initial / 10), .out, &random)
            let unclear = places.indices.filter { places[$0].state == .unclear(end.number) }
            try await register(out.isEmpty ? unclear : out, at: clock.now, &random)
        }
        return true
    }

    func cancel(_ push: Accepted, after: Int) async throws {
        try? await Task.sleep(for: .milliseconds(after))
        let answer = try await gateways.call("DELETE", "/api/push/\(push.id)")
        pushes.mark(push.id, .cancelled)
        if answer.status != 200 {
            found.note(.refused, "\(plan.name): cancelling \(push.number): \(answer.status) \(answer.text)")
        }
    }
}
