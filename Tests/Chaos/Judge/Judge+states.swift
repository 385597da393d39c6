import Foundation

/// Checks what devices show at the end.
extension Judge {
    func judgeStates(_ activity: Activity, _ pushes: [Push]) async throws {
        let places = await activity.places
        for index in places.indices where places[index].fate == .living {
            var place = places[index]
            if interruptions.mayLose(place) { continue }
            let id = activity.token(index, place)
            if try await showsUnnoticedEnd(id) { continue }
            switch place.state {
            case .following:
                if judgeNew(id, after: place.after) { continue }
                if !activity.plan.isStarted, let end = record.tokens[id]?.end {
                    try await explain(
                        .endedAnew, id, "\(describe(id)) follows, and got end \(end), which was not for it",
                        pushes.first { $0.number == end })
                    continue
                }
            // The channel registered while this end was accepted. Either the end is for it, or nothing before it is.
            case .unclear(let end):
                if let shown = record.tokens[id]?.end, shown >= end { continue }
                place.after = max(place.after, end)
            case .out, .ended, .retired: continue
            }
            try await judgeShown(activity, index, place, pushes)
        }
        for ended in await activity.ended where ended.id.fate == .living {
            if interruptions.mayLose(ended.was) { continue }
            if try await showsUnnoticedEnd(ended.id) { continue }
            if judgeNew(ended.id, after: ended.was.after) { continue }
            let received = record.tokens[ended.id]
            if let end = received?.end, end >= ended.number {
                try await judgeShown(activity, ended.place, ended.was, pushes, before: ended.number)
                continue
            }
            try await explain(
                .endLost, ended.id,
                "\(describe(ended.id)) shows \(words(received)), not the end \(ended.number)",
                pushes.first { $0.number == ended.number })
        }
    }

    /// Checks that a device shows the newest push that it must have, or a newer one. `before` is the number of an end,
    /// which may have no state.
    private func judgeShown(
        _ activity: Activity, _ index: Int, _ place: Activity.Place, _ pushes: [Push], before: Int = .max
    ) async throws {
        let required = pushes.last { push in
            // Pushes that were accepted between a start and the report of its card's token are sent to that token.
            let isInTime = place.answered < push.underWay || place.startedBy.map { push.number > $0 } ?? false
            return push.number < before && push.number > place.after && push.mustBeShown && isInTime
                && activity.covers(push.audience, index) && !isOvertaken(push, pushes)
        }
        let id = activity.token(index, place)
        let received = record.tokens[id]
        guard let required, (received?.shown ?? 0) < required.number else { return }
        try await explain(
            .lost, id,
            "\(describe(id)) shows \(words(received)), not \(required.number):"
                + " registered \(place.registered), answered \(place.answered), published \(required.asked)",
            required)
    }

    /// Whether a cancelled push superseded it, and a push between the two had begun: then the cancel does not bring it
    /// back, because cards that show the one between would go back.
    private func isOvertaken(_ push: Push, _ pushes: [Push]) -> Bool {
        guard let by = push.ledger?.supersededBy,
            let newer = pushes.first(where: { $0.id == by && $0.fate == .cancelled })
        else { return false }
        return pushes.contains {
            $0.number > push.number && $0.number < newer.number && ($0.ledger?["targets"] ?? 0) > 0
        }
    }

    private func words(_ received: Received?) -> String {
        let shown = received?.shown.map(String.init) ?? "nothing"
        return received?.end.map { "\(shown) with the end \($0)" } ?? shown
    }

    /// Whether an end from before its registration ended it.
    private func judgeNew(_ id: TokenID, after: Int) -> Bool {
        guard let received = record.tokens[id], received.isEndedAnew(after: after) else { return false }
        found.note(.endedAnew, "\(describe(id)) registered after end \(after) and got end \(received.end ?? 0)")
        return true
    }
}
