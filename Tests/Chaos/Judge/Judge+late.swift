/// Checks when devices had a state. A state that comes at last may have come much too late.
extension Judge {
    /// So many phones of each name are looked at, the first ones.
    private static let looks = 200

    func judgeLate(_ pushes: [Int: [Push]], _ tally: inout Tally) async throws {
        var ids: Set<TokenID> = []
        for activity in activities {
            let places = await activity.places
            for index in followers(places) { ids.insert(activity.token(index, places[index])) }
        }
        // One call, because the answer has all tokens of the run.
        let histories = try await Record.histories(controlURL, ids)
        for activity in activities {
            try await judgeLate(activity, pushes[activity.plan.index] ?? [], histories, &tally)
        }
    }

    private func followers(_ places: [Activity.Place]) -> [Int] {
        places.indices.prefix(Self.looks).filter { places[$0].state == .following && places[$0].fate == .living }
    }

    private func judgeLate(
        _ activity: Activity, _ pushes: [Push], _ histories: [TokenID: [Request]], _ tally: inout Tally
    ) async throws {
        let places = await activity.places
        for index in followers(places) {
            let place = places[index]
            let id = activity.token(index, place)
            try await judgeBefore(id, place, pushes, histories[id] ?? [])
            let due = pushes.filter {
                $0.mustBeShown && $0.fate == .kept && $0.number > place.after && $0.asked > place.answered
                    && activity.covers($0.audience, index)
            }
            guard let late = latest(of: due, histories[id] ?? []) else { continue }
            tally.latest = max(tally.latest, late.after)
            guard late.after > plan.late else { continue }
            try await explain(
                .late, id, "\(describe(id)) had \(late.push.number) or a newer one \(late.after) ms after its 202",
                late.push)
        }
    }

    /// Checks that a card got nothing from before the last end for everyone that was accepted before it began. Cards of
    /// starts are left out: their pushes count from the start.
    private func judgeBefore(
        _ id: TokenID, _ place: Activity.Place, _ pushes: [Push], _ history: [Request]
    ) async throws {
        if place.startedBy != nil || interruptions.mayLose(place) { return }
        // The order of schedules beside an end, and of schedules that were made late, is not that of their numbers.
        let unordered = Set(pushes.filter { $0.fate == .unordered || $0.fate == .raced }.map(\.number))
        let old = history.first { request in
            request.reached && (request.order ?? .max) < place.closed && !unordered.contains(request.order ?? 0)
                && !interruptions.contains { $0.explains(request) }
        }
        guard let old else { return }
        try await explain(
            .endedAnew, id,
            "\(describe(id)) registered after end \(place.closed) and got \(old.order ?? 0) from before it",
            pushes.first { $0.number == old.order })
    }

    /// The push that took longest until the device had it or a newer one. A phone that APNs did not answer for in that
    /// time was not healthy. Pushes that never came are found elsewhere.
    private func latest(of pushes: [Push], _ history: [Request]) -> (push: Push, after: Int64)? {
        // The simulator keeps only the last requests.
        let oldest = history.count < Fleet.history ? 0 : history.first?.at ?? 0
        var latest: (push: Push, after: Int64)?
        for push in pushes where push.asked > oldest {
            guard let arrival = history.first(where: { $0.reached && ($0.order ?? 0) >= push.number }) else { continue }
            let after = arrival.at - push.asked
            guard after > latest?.after ?? 0 else { continue }
            let isHealthy = history.allSatisfy { $0.status != nil || !(push.asked...arrival.at).contains($0.at) }
            if isHealthy { latest = (push, after) }
        }
        return latest
    }
}
